// `checkSource` accepts sources that keep the contract, and reports each way to break it.

import { openSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, vi } from 'vitest';
import type { Source } from '../public/types.js';
import { test } from '../targets/node/folder.test-support.js';
import { checkSource } from './check-source.js';

const SIZE = 10_000_000;
/** Bytes without a pattern. */
const bytes = Uint8Array.from({ length: SIZE }, (_, at) => (at * 2_654_435_761) >>> 24);
const read = async (offset: number, length: number) => bytes.slice(offset, offset + length);

/** A good source of `size` bytes, with `changes`. */
const sourceOf = (changes: object = {}, size = SIZE) => ({ size, name: 'good', read, ...changes }) as Source;

/** One that returns arrays that it keeps, which are empty after their transfer. */
function keeping(): Source {
  const kept = new Map<string, Uint8Array<ArrayBuffer>>();
  return sourceOf({
    read: async (offset: number, length: number) => {
      const key = `${offset} ${length}`;
      if (!kept.has(key)) kept.set(key, bytes.slice(offset, offset + length));
      return kept.get(key)!;
    },
  });
}

/** One with one buffer for all reads. */
function sharing(): Source {
  const buffer = new Uint8Array(SIZE);
  return sourceOf({
    read: async (offset: number, length: number) => {
      buffer.set(bytes.subarray(offset, offset + length));
      await new Promise(setImmediate);
      return buffer.subarray(0, length);
    },
  });
}

/** One that fails after an abort. */
function spoilt(): Source {
  let isSpoilt = false;
  return sourceOf({
    read: async (offset: number, length: number, { signal }: { signal: AbortSignal }) => {
      isSpoilt ||= signal.aborted;
      if (isSpoilt) throw new Error('spoilt');
      return bytes.slice(offset, offset + length);
    },
  });
}

describe('keeps the contract', () => {
  for (const size of [SIZE, 3, 1]) {
    test(`a source of ${size} bytes`, async () => {
      expect(await checkSource(sourceOf({}, size), bytes.subarray(0, size))).toEqual([]);
    });
  }

  test('one that returns parts of a kept array', async () => {
    const parts = async (offset: number, length: number) => bytes.subarray(offset, offset + length);
    expect(await checkSource(sourceOf({ read: parts }), bytes)).toEqual([]);
  });

  test('an empty one, which is never read', async () => {
    const never = () => Promise.reject(new Error('never'));
    expect(await checkSource({ size: 0, read: never })).toEqual([]);
  });

  test('one of a file, without expected bytes', async ({ folder }) => {
    const path = join(folder, 'file');
    writeFileSync(path, bytes.subarray(0, 5_000_000));
    const fd = openSync(path, 'r');
    const source: Source = {
      size: statSync(path).size,
      read: async (offset, length) => {
        const part = new Uint8Array(length);
        readSync(fd, part, 0, length, offset);
        return part;
      },
    };
    expect(await checkSource(source)).toEqual([]);
  });
});

describe('breaks the contract', () => {
  for (const [what, source, sentence] of [
    [
      'one byte too few',
      sourceOf({ read: async (offset: number, length: number) => bytes.slice(offset, offset + length - 1) }),
      'read(0, 1) returns 0 bytes',
    ],
    [
      'a buffer',
      sourceOf({ read: async (offset: number, length: number) => bytes.slice(offset, offset + length).buffer }),
      'does not return a Uint8Array',
    ],
    ['short at the end', sourceOf({ size: SIZE + 1 }), `size is ${SIZE + 1}, but ${SIZE} bytes are expected`],
    ['no size', sourceOf({ size: undefined }), 'size is undefined'],
    ['a size below zero', sourceOf({ size: -1 }), 'size is -1'],
    ['a name that is a number', sourceOf({ name: 7 }), 'name must be a string'],
    ['no read', { size: SIZE } as Source, 'read must be a function'],
    [
      'wrong bytes',
      sourceOf({ read: (offset: number, length: number) => read(Math.max(offset - 1, 0), length) }),
      'returns a wrong byte at',
    ],
    ['an error', sourceOf({ read: () => Promise.reject(new Error('gone')) }), 'has failed: gone'],
    ['a kept array', keeping(), 'repeated after its array was transferred, returns 0 bytes'],
    ['one shared buffer', sharing(), 'one of 8 at once, returns'],
    ['spoilt by an abort', spoilt(), 'after an aborted read, has failed: spoilt'],
  ] as [string, Source, string][]) {
    test(`a source: ${what}`, async () => {
      expect((await checkSource(source, bytes)).join('\n')).toContain(sentence);
    });
  }

  test('a source that returns its only array', async () => {
    const all = new Uint8Array(70_000);
    const source = sourceOf(
      { read: async (offset: number, length: number) => all.subarray(offset, offset + length) },
      all.length,
    );
    expect((await checkSource(source)).join('\n')).toContain('repeated after its array was transferred, has failed');
  });
});

describe('never settles', () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  for (const [what, settled, sentence] of [
    ['a first read', 0, 'read(0, 1) has not settled within 10 seconds'],
    ['a later read', 8, 'read(0, 512), repeated after its array was transferred, has not settled within 10 seconds'],
  ] as const) {
    test(what, async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      let reads = 0;
      const source = sourceOf({
        read: (offset: number, length: number) => {
          reads += 1;
          return reads <= settled ? read(offset, length) : new Promise<never>(() => {});
        },
      });
      const checked = checkSource(source);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await checked).toEqual([sentence]);
    });
  }
});
