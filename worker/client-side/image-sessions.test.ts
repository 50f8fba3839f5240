// The sessions of an image: unlocking that several calls share, and a session that replaces one that has died.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { layerOf } from '../api/info.test-support.js';
import { DecantError } from '../errors/errors.js';
import type { Need } from '../public/types.js';
import { FakeWorkers } from './fake-workers.test-support.js';
import type { ImageSetup } from './image-session.js';
import { ImageSessions, LayerPasswords } from './image-sessions.js';
import { endAllWorkers } from './warm.js';

const NEED: Need = { kind: 'password', of: 'disk.qcow2' };

/** How often the image was opened. */
let opened: number;
/** The answers to `unlock`, in order; the test resolves them with the needs that are left. */
let unlockings: { resolve: (needs: Need[]) => void; reject: (error: DecantError) => void }[];
/** Operations that were cancelled. */
let cancelled: number[];
let workers: FakeWorkers;
let needs: Need[];

beforeEach(() => {
  [opened, unlockings, cancelled, needs] = [0, [], [], [NEED]];
  workers = new FakeWorkers({
    startCoordinator: () => {},
    open: () => {
      opened += 1;
      const layers = [{ ...layerOf('disk.qcow2'), encryption: 'luks' }];
      return { image: opened, info: { layers, needs: [...needs] }, formats: [], members: [] };
    },
    unlock: () => new Promise<Need[]>((resolve, reject) => unlockings.push({ resolve, reject })),
    cancel: (operation: number) => void cancelled.push(operation),
    close: () => {},
  });
});
afterEach(endAllWorkers);

const open = (password?: string): Promise<ImageSessions> => {
  const loan = { ports: [], image: {}, cancel: () => {}, end: () => {}, explain: (error: DecantError) => error };
  const sources = { lend: () => loan };
  const setup = { starter: workers.starter, sources, settings: {}, engine: 'workers', engineReason: '', workers: 1 };
  const passwords = new LayerPasswords(password === undefined ? {} : { password });
  return ImageSessions.open(setup as unknown as ImageSetup, passwords, undefined);
};
const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error);
/** Resolves when `count` unlockings have begun. */
const begun = (count: number) => vi.waitFor(() => expect(unlockings).toHaveLength(count), { timeout: 60_000 });

describe('unlocking', () => {
  test('happens once for calls at the same time', async () => {
    const sessions = await open('secret');
    const calls = [1, 2, 3].map(() => sessions.acquire(new AbortController().signal));
    await begun(1);
    unlockings[0]!.resolve([]);
    const acquired = await Promise.all(calls);
    expect([new Set(acquired).size, unlockings.length, sessions.info.needs]).toEqual([1, 1, []]);
    await sessions.close();
  });

  test('goes on for a second call if the first one is cancelled', async () => {
    const sessions = await open('secret');
    const first = new AbortController();
    const failed = failure(sessions.acquire(first.signal));
    await begun(1);
    const second = sessions.acquire(new AbortController().signal);
    first.abort();
    expect(await failed).toMatchObject({ kind: 'cancelled' });
    unlockings[0]!.reject(new DecantError('cancelled', 'cancelled'));
    // The second call unlocks by itself.
    await begun(2);
    unlockings[1]!.resolve([]);
    expect((await second).usable).toBe(true);
    await sessions.close();
  });

  test('is cancelled for a second call without an effect on the first', async () => {
    const sessions = await open('secret');
    const first = sessions.acquire(new AbortController().signal);
    await begun(1);
    const second = new AbortController();
    const failed = failure(sessions.acquire(second.signal));
    second.abort();
    expect(await failed).toMatchObject({ kind: 'cancelled' });
    unlockings[0]!.resolve([]);
    expect([(await first).usable, cancelled, unlockings.length]).toEqual([true, [], 1]);
    await sessions.close();
  });

  test('fails for all calls with a wrong password', async () => {
    const sessions = await open('wrong');
    const calls = [1, 2].map(() => failure(sessions.acquire(new AbortController().signal)));
    await begun(1);
    unlockings[0]!.reject(new DecantError('password', 'wrong'));
    expect(await Promise.all(calls)).toMatchObject([{ kind: 'password' }, { kind: 'password' }]);
    await sessions.close();
  });

  for (const [name, password, left] of [
    ['without a password', undefined, [NEED]],
    ['while files are missing', 'secret', [{ kind: 'missing-file', name: 'base' } as unknown as Need, NEED]],
    ['of an image that needs none', 'secret', []],
  ] as const) {
    test(`does not begin ${name}`, async () => {
      needs = [...left];
      const sessions = await open(password);
      await sessions.acquire(new AbortController().signal);
      expect(unlockings).toEqual([]);
      await sessions.close();
    });
  }
});

describe('a session that has died', () => {
  test('is replaced once for calls at the same time, and unlocked again', async () => {
    const sessions = await open('secret');
    const first = sessions.acquire(new AbortController().signal);
    await begun(1);
    unlockings[0]!.resolve([]);
    const before = await first;
    workers.started[0]!.die('out of memory');
    expect(before.usable).toBe(false);
    const calls = [1, 2].map(() => sessions.acquire(new AbortController().signal));
    await begun(2);
    unlockings[1]!.resolve([]);
    const [one, other] = await Promise.all(calls);
    expect([one === other, one === before, opened]).toEqual([true, false, 2]);
    await sessions.close();
  });

  test('is not replaced before it is needed', async () => {
    needs = [];
    const sessions = await open();
    workers.started[0]!.die('out of memory');
    expect(opened).toBe(1);
    await sessions.close();
    expect(opened).toBe(1);
  });
});

test('what the image tells is not lost to an operation that ignores its cancel', async () => {
  const sessions = await open();
  const { signal } = new AbortController();
  const abort = new AbortController();
  let tell = (_: unknown) => {};
  workers.methods.output = () => new Promise((resolve) => (tell = resolve));
  const session = await sessions.acquireLocked(signal);
  workers.methods.statedSize = () => new Promise(() => {});
  const ignoring = failure(session.run(abort.signal, (operation) => session.client.call('statedSize', operation, 1)));
  const output = sessions.output('raw', {}, signal);
  abort.abort();
  // It accepts no new operations, and waits for the output.
  await vi.waitFor(() => expect(session.usable).toBe(false), { timeout: 60_000 });
  expect(workers.log).toEqual([]);
  tell({ format: 'raw' });
  expect(await output).toEqual({ format: 'raw' });
  expect(workers.log).toEqual(['terminate workers']);
  await session.release();
  await sessions.close();
  expect(await ignoring).toMatchObject({ kind: 'cancelled' });
});
