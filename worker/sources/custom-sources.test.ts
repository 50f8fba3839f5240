// Custom sources: their properties, and the results of their reads.

import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { DecantError } from '../errors/errors.js';
import type { Source } from '../public/types.js';
import { expects, networkOf, openCustomSource, readCustomSource } from './custom-sources.js';
import { announceReads } from './expectations.js';
import { isCustomSource } from './inputs.js';

const never = new AbortController().signal;
const read: Source['read'] = async (_, length) => new Uint8Array(length);

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

test.for([
  [{ size: 7, read }, true],
  [{ read }, true],
  [{ size: 7 }, false],
  [{ size: 7, read: 7 }, false],
  [null, false],
  [7, false],
  ['read', false],
] as const)('%o has the shape of a source: %s', ([value, is]) => {
  expect(isCustomSource(value)).toBe(is);
});

const SIZE = 'The size of a source must be a whole number of bytes from 0 to 2^53-1, not ';
test.for([
  [{ size: -1 }, `${SIZE}-1`],
  [{ size: 1.5 }, `${SIZE}1.5`],
  [{ size: Number.NaN }, `${SIZE}NaN`],
  [{ size: 2 ** 53 }, `${SIZE}9007199254740992`],
  [{ size: '7' }, `${SIZE}7`],
  [{ size: 7n }, `${SIZE}7`],
  [{}, `${SIZE}undefined`],
  [{ size: 7, name: 7 }, 'The name of a source must be a string'],
  [{ size: 7, unnoticed: true }, "A source's 'unnoticed' must be a string"],
  [{ size: 7, state: 7 }, "A source's 'state' must be a string"],
] as const)('an invalid source: %o', ([properties, message]) => {
  const open = () => openCustomSource({ ...properties, read } as unknown as Source);
  expect(open).toThrow(expect.objectContaining({ kind: 'usage', message }));
});

test('the properties of an opened source', async () => {
  const source = { size: 2 ** 53 - 1, name: 'disk', unnoticed: 'a sentence', state: 'a', read };
  const opened = openCustomSource(source);
  expect(opened).toMatchObject({ ...{ identity: source, size: source.size, name: 'disk', state: 'a' } });
  expect(opened).toMatchObject({ unnoticed: 'a sentence', spec: { custom: source, size: source.size } });
  const bare = openCustomSource({ size: 0, read });
  expect(bare).toMatchObject({ size: 0, name: undefined, state: undefined });
  expect(bare.unnoticed).toBeUndefined();
  expect(bare).not.toHaveProperty('confirm');
  await bare.verify();
});

test.for(['size', 'name', 'unnoticed', 'state', 'network'] as const)('a %s that cannot be read', async (name) => {
  const cause = new Error('no such thing');
  let isBroken = true;
  const source = Object.defineProperty({ size: 1, read } as Source, name, {
    get() {
      if (isBroken) throw cause;
      return name === 'size' ? 1 : undefined;
    },
  });
  const failure = { kind: 'source', message: 'Could not read the image: no such thing', cause };
  if (name === 'network') expect(() => networkOf(source)).toThrow(expect.objectContaining(failure));
  else expect(() => openCustomSource(source)).toThrow(expect.objectContaining(failure));
  isBroken = false;
  const opened = openCustomSource(source);
  isBroken = true;
  if (name === 'unnoticed') expect(() => opened.unnoticed).toThrow(expect.objectContaining(failure));
  if (name === 'state') await expect(opened.verify()).rejects.toMatchObject(failure);
});

test('the network of a source', () => {
  const network = { received: 1, sent: 0, retries: 2 };
  expect(networkOf({ size: 1, read, network })).toEqual(network);
  expect(networkOf({ size: 1, read })).toBeUndefined();
  const message = "Could not read the image: 'network.sent' must be a number from 0, not NaN";
  const invalid = { size: 1, read, network: { ...network, sent: Number.NaN } };
  expect(() => networkOf(invalid)).toThrow(expect.objectContaining({ kind: 'source', message }));
});

test.for(['read', 'expect', 'verify'])('a %s that cannot be read', async (name) => {
  const source = Object.defineProperty({ size: 1, read: async () => new Uint8Array(1) }, name, {
    get() {
      throw new Error('a');
    },
  });
  const open = () => isCustomSource(source) && openCustomSource(source);
  expect(open).toThrow(expect.objectContaining({ kind: 'source', message: 'Could not read the image: a' }));
});

test.for(['read', 'verify'] as const)('a %s that fails with an unreadable error', async (name) => {
  const thrown = Object.defineProperty(new Error('a'), 'message', {
    get() {
      throw new Error('b');
    },
  });
  const source = { size: 1, read: async () => new Uint8Array(1), [name]: () => Promise.reject(thrown) };
  const { confirm } = openCustomSource(source);
  const { signal } = new AbortController();
  const work = name === 'read' ? readCustomSource(source, 0, 1, signal) : confirm?.(signal);
  await expect(work).rejects.toMatchObject({
    kind: 'source',
    message: 'Could not read the image: no reason was given',
  });
});

test('a changed or missing state is an error', async () => {
  const source: { size: number; state: string | undefined; read: Source['read'] } = { size: 1, state: 'a', read };
  const opened = openCustomSource(source);
  await opened.verify();
  for (const state of ['b', undefined]) {
    source.state = state;
    await expect(opened.verify()).rejects.toMatchObject({
      kind: 'source',
      message: 'Could not read the image: the file was changed while it was read; open it again',
    });
  }
});

const cause = new Error('the far side is gone');
test.for([
  ['resolves', async () => {}, undefined],
  ['returns nothing', () => undefined as never, undefined],
  [
    'rejects',
    () => Promise.reject(cause),
    { kind: 'source', message: `Could not read the image: ${cause.message}`, cause },
  ],
  [
    'throws',
    () => {
      throw cause;
    },
    { kind: 'source', message: `Could not read the image: ${cause.message}`, cause },
  ],
] as const)('a source whose verify %s', async ([, verify, failure]) => {
  const confirmed = await failureOf(openCustomSource({ size: 1, read, verify }).confirm!(never));
  if (failure) expect(confirmed).toMatchObject(failure);
  else expect(confirmed).toBeUndefined();
});

test('a verify that never ends is cancelled', async () => {
  const cancel = new AbortController();
  const confirming = openCustomSource({ size: 1, read, verify: () => new Promise(() => {}) }).confirm!(cancel.signal);
  cancel.abort();
  await expect(confirming).rejects.toMatchObject({ kind: 'cancelled' });
});

test('a read gets its range, and its signal', async () => {
  const calls: unknown[] = [];
  const source: Source = {
    size: 100,
    read: async (...asked) => {
      calls.push(asked);
      return Uint8Array.of(1, 2, 3);
    },
  };
  expect(await readCustomSource(source, 50, 3, never)).toEqual(Uint8Array.of(1, 2, 3));
  expect(calls).toEqual([[50, 3, { signal: never }]]);
});

test('an array of another realm is accepted', async () => {
  const foreign = runInNewContext('new Uint8Array(3)') as Uint8Array;
  expect(foreign).not.toBeInstanceOf(Uint8Array);
  expect(await readCustomSource({ size: 9, read: async () => foreign }, 0, 3, never)).toBe(foreign);
});

const ASKED = 'its source did not return a Uint8Array for 10 bytes at byte 4';
const typeError = new TypeError('fetch failed');
const corrupt = new DecantError('corrupt', 'No');
/** A read, the reason in the message, and the cause. */
const FAILURES: [name: string, read: (offset: number, length: number) => unknown, message: string, cause?: unknown][] =
  [
    ['too few bytes', (_, length) => new Uint8Array(length - 1), 'its source returned 9 bytes instead of 10 at byte 4'],
    [
      'too many bytes',
      (_, length) => new Uint8Array(length + 1),
      'its source returned 11 bytes instead of 10 at byte 4',
    ],
    [
      'no bytes',
      () => new Uint8Array(0),
      'its source returned 0 bytes instead of 10 at byte 4; it must return a copy of an array that it keeps',
    ],
    ['a buffer', (_, length) => new ArrayBuffer(length), ASKED],
    ['another array', (_, length) => new Uint8ClampedArray(length), ASKED],
    ['a view', (_, length) => new DataView(new ArrayBuffer(length)), ASKED],
    ['numbers', (_, length) => Array(length).fill(0), ASKED],
    ['text', () => 'bytes', ASKED],
    ['nothing', () => {}, ASKED],
    [
      'an error',
      () => {
        throw cause;
      },
      'the far side is gone',
      cause,
    ],
    ['a rejection', async () => Promise.reject(typeError), 'fetch failed', typeError],
    ['no reason', () => Promise.reject(), 'no reason was given'],
    ['a word', () => Promise.reject('no'), 'no', 'no'],
    ['an error of another kind', () => Promise.reject(corrupt), 'No', corrupt],
  ];

test.for(FAILURES)('a read that returns %s', async ([, read, reason, cause]) => {
  const source = { size: 100, read } as unknown as Source;
  const failure = await failureOf(readCustomSource(source, 4, 10, never));
  expect(failure).toBeInstanceOf(DecantError);
  expect(failure).toMatchObject({ kind: 'source', message: `Could not read the image: ${reason}` });
  expect((failure as Error).cause).toBe(cause);
});

test('a cancelled read does not wait for the source, and does not start after the cancel', async () => {
  const cancel = new AbortController();
  let begun = 0;
  const source: Source = {
    size: 100,
    read: () => {
      begun += 1;
      return new Promise(() => {});
    },
  };
  const reading = readCustomSource(source, 0, 1, cancel.signal);
  cancel.abort();
  await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
  await expect(readCustomSource(source, 0, 1, cancel.signal)).rejects.toMatchObject({ kind: 'cancelled' });
  expect(begun).toBe(1);
});

test('reads are announced if the source has expect, whose failures are ignored', () => {
  const told: unknown[] = [];
  const source: Source = {
    size: 1,
    read,
    expect: (ranges) => {
      told.push(ranges);
      throw new Error('this affects speed only');
    },
  };
  expect([expects(source), expects({ size: 1, read })]).toEqual([true, false]);
  announceReads(source, [{ offset: 0, length: 1 }]);
  announceReads({ size: 1, read }, [{ offset: 0, length: 1 }]);
  expect(told).toEqual([[{ offset: 0, length: 1 }]]);
});

test('an expect that rejects is ignored', async () => {
  const rejections: unknown[] = [];
  const note = (reason: unknown) => rejections.push(reason);
  process.on('unhandledRejection', note);
  const rejecting = (() => Promise.reject(new Error('this affects speed only'))) as () => void;
  announceReads({ size: 1, read, expect: rejecting }, [{ offset: 0, length: 1 }]);
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(rejections).toEqual([]);
});
