// What interrupted conversions left in the private storage: what is listed, and what is discarded.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FOLDER, journalName } from '../../messages/messages.js';
import { listLeftovers } from './leftovers.js';
import { type MemoryFolder, stubStorage } from './memory-storage.test-support.js';
import { firstLine, storageFolder, TemporaryFile } from './storage.js';

const HEAD = '["download","it"]';

let root: MemoryFolder;
let files: MemoryFolder;
beforeEach(async () => {
  ({ root } = stubStorage());
  files = (await storageFolder()) as unknown as MemoryFolder;
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Leaves a file of 9 bytes whose journal has these lines. */
function leave(name: string, ...lines: string[]): number {
  files.add(name, 'x'.repeat(9));
  const journal = [...lines, ''].join('\n');
  files.add(journalName(name), journal);
  return 9 + journal.length;
}

// (case, lines of the journal, what is listed)
test.each([
  ['a download', [firstLine(HEAD, 'a b"\n.qcow2'), '5 0'], { kind: 'download', image: 'a b"\n.qcow2', guestDone: 5 }],
  ['an image without a name', [firstLine(HEAD, undefined), '5 0'], { kind: 'download', guestDone: 5 }],
  ['a file of the page', [firstLine('["opfs:disk.raw","it"]', 'a'), '5 0', '7 0'], { kind: 'opfs', guestDone: 7 }],
  ['a file called download', [firstLine('["opfs:download","it"]', 'a'), '5 0'], { kind: 'opfs' }],
  ['a journal of another version', ['no JSON', '5 0'], { kind: 'opfs', guestDone: 5 }],
  ['no progress', [firstLine(HEAD, 'a')], undefined],
] as const)('lists: %s', async (_, lines, expected) => {
  const size = leave('one', ...lines);
  const found = await listLeftovers();
  expect(found).toMatchObject(expected ? [{ ...expected, size }] : []);
  if (expected && !('image' in expected) && expected.kind === 'download') expect(found[0]).not.toHaveProperty('image');
});

test('lists no file without a journal, and no journal without a file', async () => {
  files.add('swept', 'data');
  files.add(journalName('gone'), `${HEAD}\n5 0\n`);
  expect(await listLeftovers()).toEqual([]);
});

test('discards exactly the chosen file', async () => {
  leave('one', HEAD, '5 0');
  leave('two', HEAD, '6 0');
  const [one] = (await listLeftovers()).filter(({ guestDone }) => guestDone === 5);
  await one!.discard();
  expect(files.names).toEqual(['two', 'two.journal']);
  // It is gone already.
  await one!.discard();
  expect(files.names).toEqual(['two', 'two.journal']);
});

test('leaves a file alone that a conversion uses by now', async () => {
  leave('one', HEAD, '5 0');
  const [one] = await listLeftovers();
  const taken = await TemporaryFile.take('one');
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  await expect(one!.discard()).rejects.toMatchObject({ code: 'storage-in-use' });
  expect(await listLeftovers()).toEqual([]);
  expect(files.names).toEqual(['one', 'one.journal']);
  taken?.leave();
});

test('creates nothing, and lists nothing without storage', async () => {
  await root.removeEntry(FOLDER);
  expect(await listLeftovers()).toEqual([]);
  expect(root.names).toEqual([]);
  vi.stubGlobal('isSecureContext', false);
  expect(await listLeftovers()).toEqual([]);
});
