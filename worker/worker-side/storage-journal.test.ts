// A journal in the origin's private file system.

import { describe, expect, test, vi } from 'vitest';
import type { ResumePoint } from '../targets/output-target.js';
import { StorageJournal } from './storage-journal.js';

const resumePoint = { guest: 8192, written: 4096 };
const more = { guest: 16384, written: 8192 };
const NOTHING = { guest: 0, written: 0 };

/** A file in memory that takes up to `room` bytes. */
function file(content: string, room = Number.POSITIVE_INFINITY) {
  let bytes = Buffer.from(content);
  const handle = {
    getSize: () => bytes.length,
    read: (into: Uint8Array, { at }: { at: number }) => bytes.copy(into, 0, at),
    truncate: (size: number) => {
      bytes = bytes.subarray(0, size);
    },
    write: (added: Uint8Array, { at }: { at: number }) => {
      if (at + added.length > room) return 0;
      bytes = Buffer.concat([bytes.subarray(0, at), added]);
      return added.length;
    },
    flush: vi.fn(),
    close: vi.fn(),
  };
  return { handle: handle as unknown as FileSystemSyncAccessHandle, ...handle, content: () => bytes.toString() };
}
const flushData = async () => {};
const from = (resumePoint: ResumePoint, mostUnsaved = 64e6) => ({ head: 'head', resumePoint, mostUnsaved });

test('starts from the beginning without a resume point, whatever the file contains', () => {
  const { handle, content, flush } = file('other\n1 1\n');
  StorageJournal.begin(handle, from(NOTHING), flushData);
  expect(content()).toBe('head\n');
  expect(flush).toHaveBeenCalled();
});

test.each([
  ['head\n8192 4096\n', 'head\n8192 4096\n8192 4096\n'],
  ['head\n8192 4096\n163', 'head\n8192 4096\n8192 4096\n'],
  ['head\n8192 4096\n16384 8192\n', 'head\n8192 4096\n16384 8192\n8192 4096\n'],
])('continues %j after its last whole line with the resume point', (before, after) => {
  const { handle, content } = file(before);
  StorageJournal.begin(handle, from(resumePoint), flushData);
  expect(content()).toBe(after);
});

test('notes the latest state when it ends and keeps', async () => {
  const { handle, content, close } = file('');
  const journal = StorageJournal.begin(handle, from(NOTHING), flushData);
  journal.settled(more, more.guest);
  await journal.end(true);
  expect(content()).toBe('head\n16384 8192\n');
  expect(close).toHaveBeenCalledTimes(1);
});

test('notes nothing when it ends without keeping', async () => {
  const { handle, content, close } = file('');
  const journal = StorageJournal.begin(handle, from(NOTHING), flushData);
  journal.settled(more, more.guest);
  await journal.end(false);
  expect(content()).toBe('head\n');
  expect(close).toHaveBeenCalledTimes(1);
});

test('a full storage, which neither throws nor writes, fails the beginning', () => {
  const { handle } = file('', 4);
  expect(() => StorageJournal.begin(handle, from(NOTHING), flushData)).toThrow("the browser's storage is full");
});

test('a full storage later makes less certain, and fails nothing', async () => {
  const { handle, content, close } = file('', 5);
  const journal = StorageJournal.begin(handle, from(NOTHING), flushData);
  journal.settled(more, more.guest);
  await journal.end(true);
  expect(content()).toBe('head\n');
  expect(close).toHaveBeenCalledTimes(1);
});

describe('jobs of a disk of which 64 bytes may be unsaved', () => {
  /** A journal whose flushes the test ends, and `begin`, which begins a job. `begun` has the numbers of the jobs that have begun. */
  function journaled() {
    const flushes: { resolve(): void; reject(cause: Error): void }[] = [];
    const flushHeld = () => new Promise<void>((resolve, reject) => flushes.push({ resolve, reject }));
    const { handle, content } = file('');
    const journal = StorageJournal.begin(handle, from(NOTHING, 64), flushHeld);
    const [begun, ends]: [number[], (() => void)[]] = [[], []];
    const begin = (job: number) => {
      const work = () => new Promise<void>((end) => Object.assign(ends, { [job]: end, length: begun.push(job) }));
      journal.run(work).catch(expect.unreachable);
    };
    /** Ends the first flush. */
    const flush = async (end: 'resolve' | 'reject' = 'resolve') => {
      flushes.shift()![end](new Error('the disk reports an error'));
      await settle();
    };
    const end = async (job: number) => {
      ends[job]!();
      await settle();
    };
    const reported = async (settled: number, done: number) => {
      journal.settled({ guest: settled, written: settled }, done);
      await settle();
    };
    return { journal, begin, begun, end, reported, flush, flushes, content };
  }
  const settle = () => new Promise(setImmediate);

  test('a resume point is saved when a quarter is written since the last one', async () => {
    const { reported, flush, flushes, content } = journaled();
    await reported(15, 15);
    expect(flushes).toHaveLength(0);
    await reported(16, 16);
    expect(flushes).toHaveLength(1);
    // More is written during the flush, and saved after it without another report.
    await reported(32, 32);
    await flush();
    await flush();
    expect(content()).toBe('head\n16 16\n32 32\n');
  });

  test('a job waits while half is converted and not saved', async () => {
    const { begin, begun, reported, flush } = journaled();
    begin(0);
    await reported(0, 31);
    begin(1);
    await reported(31, 32);
    begin(2);
    begin(3);
    await settle();
    expect(begun).toEqual([0, 1]);
    await flush();
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  test('one job begins if none runs, however much is not saved', async () => {
    const { begin, begun, end, reported } = journaled();
    begin(0);
    await reported(8, 40);
    begin(1);
    begin(2);
    await end(0);
    expect(begun).toEqual([0, 1]);
    await end(1);
    expect(begun).toEqual([0, 1, 2]);
  });

  test('no job waits for a journal that has failed', async () => {
    const { begin, begun, reported, flush } = journaled();
    begin(0);
    await reported(40, 40);
    begin(1);
    await flush('reject');
    expect(begun).toEqual([0, 1]);
    await reported(400, 400);
    begin(2);
    await settle();
    expect(begun).toEqual([0, 1, 2]);
  });

  test('a job that waits at the end never begins', async () => {
    const { journal, begin, begun, end, reported, flush } = journaled();
    begin(0);
    await reported(40, 40);
    begin(1);
    const ended = journal.end(true);
    await end(0);
    await flush();
    await ended;
    expect(begun).toEqual([0]);
  });
});
