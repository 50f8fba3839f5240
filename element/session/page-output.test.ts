// A page whose `output` does not arrive, or changes while an image is open: nothing is saved elsewhere instead.

import { DecantError, type Output } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import { Held, images, openImage, RESULT, screenIn, soon, stepOf } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import type { Host } from '../ways/environment.js';
import { Session } from './session.js';
import { imageCalled, input } from './session.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
}));

const output = (): Output => new WritableStream();
const PROBLEM = new DecantError('usage', 'of the page', { code: 'output-unreadable' });

/** The page that can be changed, its session, and what the person and the developer are shown. */
let host: { -readonly [K in keyof Host]: Host[K] };
let session: Session;
let emitted: [string, unknown][];
let reported: unknown[];

beforeEach(() => {
  const page = screenIn();
  ({ emitted } = page);
  host = { ...page.screen.host };
  session = new Session(host, () => {});
  reported = [];
  vi.stubGlobal('reportError', (thrown: unknown) => reported.push(thrown));
});

/** Sets `output` as the page does. */
function set(now: Host['output']): void {
  const before = host.output;
  host.output = now;
  session.changeOutput(before);
}

/** Expects the failure `code`, for the person and for the developer. */
async function expectRefused(code: string): Promise<void> {
  const { message, remedies } = await stepOf(session, 'failed');
  expect(message).toBe(english.failure({ kind: 'usage', code, fields: {}, message: '' }));
  expect(remedies).toEqual([]);
  const failures = emitted.filter(([type]) => type === 'decant-error').map(([, error]) => error);
  expect(failures).toEqual(reported);
  expect(failures.at(-1)).toMatchObject({ kind: 'usage', code });
}

test('an output that has not arrived: no file is opened', async () => {
  host.outputProblem = PROBLEM;
  const opened = vi.fn(() => imageCalled('a.qcow2'));
  images.set('a.qcow2', opened);
  session.take(input('a.qcow2'));
  await expectRefused('output-unreadable');
  expect(opened).not.toHaveBeenCalled();
});

test('React hydrates after the image was opened: nothing is converted', async () => {
  const convert = vi.fn(async () => RESULT);
  images.set('a.qcow2', imageCalled('a.qcow2', { convert }));
  session.take(input('a.qcow2'));
  await stepOf(session, 'ready');
  host.outputProblem = PROBLEM;
  session.convert('download');
  await expectRefused('output-unreadable');
  expect(convert).not.toHaveBeenCalled();
});

test.each<[string, Host['output'], Host['output']]>([
  ['set', undefined, output],
  ['removed', output, undefined],
])('output is %s while an image is open', async (_, before, now) => {
  set(before);
  images.set('a.qcow2', imageCalled('a.qcow2'));
  session.take(input('a.qcow2'));
  await stepOf(session, 'ready');
  set(now);
  await expectRefused('output-changed');
});

test('output is set during a conversion: it is cancelled', async () => {
  const held = new Held<typeof RESULT>();
  let given: AbortSignal | undefined;
  const convert = async (_: Output, { signal }: { signal?: AbortSignal } = {}) => {
    given = signal;
    return held.promise;
  };
  images.set('a.qcow2', imageCalled('a.qcow2', { convert }));
  session.take(input('a.qcow2'));
  await stepOf(session, 'ready');
  session.convert('download');
  await stepOf(session, 'converting');
  await soon(() => expect(given).toBeDefined());
  set(output);
  await expectRefused('output-changed');
  expect(given?.aborted).toBe(true);
});

test('another function, or another output between two images, is not a change', async () => {
  const convert = vi.fn(async () => RESULT);
  images.set('a.qcow2', imageCalled('a.qcow2', { convert }));
  set(output);
  session.take(input('a.qcow2'));
  await stepOf(session, 'ready');
  set(() => new WritableStream());
  session.convert();
  await stepOf(session, 'done');
  set(undefined);
  set(output);
  expect(session.state.step).toBe('done');
  expect(reported).toEqual([]);
  session.end();
});

test('an output that the page cannot make: nobody knows what it has left', async () => {
  host.output = () => Promise.reject(new Error('no room'));
  images.set('a.qcow2', imageCalled('a.qcow2'));
  session.take(input('a.qcow2'));
  await stepOf(session, 'ready');
  session.convert('host');
  expect(await stepOf(session, 'failed')).toMatchObject({ remains: undefined });
});
