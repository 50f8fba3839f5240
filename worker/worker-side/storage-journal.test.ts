// A journal in the origin's private file system.

import { expect, test, vi } from 'vitest';
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

test('starts from the beginning without a resume point, whatever the file contains', () => {
  const { handle, content, flush } = file('other\n1 1\n');
  StorageJournal.begin(handle, 'head', NOTHING, flushData);
  expect(content()).toBe('head\n');
  expect(flush).toHaveBeenCalled();
});

test.each([
  ['head\n8192 4096\n', 'head\n8192 4096\n8192 4096\n'],
  ['head\n8192 4096\n163', 'head\n8192 4096\n8192 4096\n'],
  ['head\n8192 4096\n16384 8192\n', 'head\n8192 4096\n16384 8192\n8192 4096\n'],
])('continues %j after its last whole line with the resume point', (before, after) => {
  const { handle, content } = file(before);
  StorageJournal.begin(handle, 'head', resumePoint, flushData);
  expect(content()).toBe(after);
});

test('notes the latest state when it ends and keeps', async () => {
  const { handle, content, close } = file('');
  const journal = StorageJournal.begin(handle, 'head', NOTHING, flushData);
  journal.settled(more);
  await journal.end(true);
  expect(content()).toBe('head\n16384 8192\n');
  expect(close).toHaveBeenCalledTimes(1);
});

test('notes nothing when it ends without keeping', async () => {
  const { handle, content, close } = file('');
  const journal = StorageJournal.begin(handle, 'head', NOTHING, flushData);
  journal.settled(more);
  await journal.end(false);
  expect(content()).toBe('head\n');
  expect(close).toHaveBeenCalledTimes(1);
});

test('a full storage, which neither throws nor writes, fails the beginning', () => {
  const { handle } = file('', 4);
  expect(() => StorageJournal.begin(handle, 'head', NOTHING, flushData)).toThrow("the browser's storage is full");
});

test('a full storage later makes less certain, and fails nothing', async () => {
  const { handle, content, close } = file('', 5);
  const journal = StorageJournal.begin(handle, 'head', NOTHING, flushData);
  journal.settled(more);
  await journal.end(true);
  expect(content()).toBe('head\n');
  expect(close).toHaveBeenCalledTimes(1);
});
