// Files at picked places: what is remembered while they are written, and what removing what is left does.

import { beforeEach, expect, test, vi } from 'vitest';
import { asFolder, MemoryFolder, stubStorage } from '../../worker/targets/browser/memory-storage.test-support.js';
import { fileHandle, fileOf } from '../element.test-support.js';
import type { Target } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { remainsAtTargets, rememberUnfinished } from './unfinished.js';

const records = new Map<string, { id: string }>();
vi.mock('./record-store.js', () => ({
  storeRecord: async (record: { id: string }) => void records.set(record.id, record),
  deleteRecord: async (id: string) => void records.delete(id),
  storedRecords: async () => [...records.values()],
}));

let folder: MemoryFolder;
beforeEach(() => {
  records.clear();
  vi.useRealTimers();
  stubStorage();
  folder = new MemoryFolder();
});

/** The folder, whose permission is `before`, and `after` a question. */
const picked = (before: PermissionState = 'granted', after: PermissionState = before) =>
  Object.assign(asFolder(folder), {
    queryPermission: async () => before,
    requestPermission: async () => after,
    isSameEntry: async (other: unknown) => other === folder,
  });
const inFolder = (folder: FileSystemDirectoryHandle, replaces?: File): Target => ({
  kind: 'folder',
  folder,
  name: 'disk.raw',
  replaces,
});

/** As if the tab were closed during a conversion to `place`: its locks are gone. */
async function interrupt(target: Target): Promise<void> {
  await rememberUnfinished(target, 'disk.vdi');
  stubStorage();
}

test('a file is remembered until its conversion has ended, and is not left until then', async () => {
  folder.add('disk.raw');
  const forget = await rememberUnfinished(inFolder(picked()), 'disk.vdi');
  expect(records.size).toBe(1);
  expect(await remainsAtTargets(english)).toEqual([]);
  await forget();
  expect(records.size).toBe(0);
});

test('a streamed download that was lost is mentioned once', async () => {
  const streamed: Target = { kind: 'streamed', name: 'disk.raw' };
  const forget = await rememberUnfinished(streamed, 'disk.vdi');
  expect(await remainsAtTargets(english)).toEqual([]);
  await forget();
  await interrupt(streamed);
  expect(await remainsAtTargets(english)).toMatchObject([
    {
      image: 'disk.vdi',
      text: english.downloadLost('disk.vdi', 'disk.raw'),
      action: english.dismiss,
      isListedOnce: true,
    },
  ]);
  expect(await remainsAtTargets(english)).toEqual([]);
});

test.each<[string, Target]>([
  ['a file that is to be replaced', inFolder(asFolder(new MemoryFolder()), fileOf('disk.raw'))],
  ['a stored download', { kind: 'stored', name: 'disk.raw', kept: undefined }],
  ['an output of the page', { kind: 'host', name: 'disk.raw' }],
])('nothing is remembered of %s', async (_, target) => {
  const forget = await rememberUnfinished(target, 'disk.vdi');
  expect(records.size).toBe(0);
  await forget();
});

// (case, content of the file, permission before and after the question, whether it is listed, what removing it says)
test.each([
  ['an empty file', '', 'granted', 'granted', true, english.fileRemoved('disk.raw')],
  ['an empty file, after a question', '', 'prompt', 'granted', true, english.fileRemoved('disk.raw')],
  ['a refused question', '', 'prompt', 'denied', true, english.fileNotRemoved('disk.raw')],
  ['a file that was completed since', 'whole', 'prompt', 'granted', true, english.fileStays('disk.raw')],
  ['a file that is gone', undefined, 'prompt', 'granted', true, english.nothingLeft],
  ['a complete file that may be read', 'whole', 'granted', 'granted', false, undefined],
  ['a missing file that may be looked for', undefined, 'granted', 'granted', false, undefined],
] as const)('in a folder: %s', async (_, content, before, after, isListed, said) => {
  folder.add('other.raw');
  if (content !== undefined) folder.add('disk.raw', content);
  await interrupt(inFolder(picked(before, after)));
  const [remains] = await remainsAtTargets(english);
  const { fileInterrupted, removeFile } = english;
  const listed = {
    image: 'disk.vdi',
    text: fileInterrupted('disk.vdi', 'disk.raw', 'picked'),
    action: removeFile('disk.raw'),
  };
  if (isListed) expect(remains).toMatchObject(listed);
  else expect(remains).toBeUndefined();
  expect(await remains?.remove()).toBe(said);
  const stays = content !== undefined && said !== english.fileRemoved('disk.raw');
  expect(folder.names).toEqual([...(stays ? ['disk.raw'] : []), 'other.raw']);
  // A file that the browser refuses to remove is listed again.
  expect(records.size).toBe(said === english.fileNotRemoved('disk.raw') ? 1 : 0);
});

test('a conversion to the same file takes the place of an earlier one, also if it replaces the empty file', async () => {
  const picking = picked('prompt');
  const target = inFolder(picking);
  await interrupt(target);
  await interrupt({ ...target, name: 'other.raw' });
  await interrupt(inFolder(picking, fileOf('disk.raw', '')));
  expect([...records.values()]).toMatchObject([{ name: 'other.raw' }, { name: 'disk.raw' }]);
  const forget = await rememberUnfinished(target, 'disk.vdi');
  await forget();
  expect([...records.values()]).toMatchObject([{ name: 'other.raw' }]);
});

test('a file that another tab writes is not removed', async () => {
  folder.add('disk.raw').isHeld = true;
  await interrupt(inFolder(picked()));
  const [remains] = await remainsAtTargets(english);
  expect(await remains!.remove()).toBe(english.fileNotRemoved('disk.raw'));
  expect(folder.names).toEqual(['disk.raw']);
});

test('the file of a save dialog is removed by its handle', async () => {
  const remove = vi.fn(async () => {});
  const handle = Object.assign(fileHandle(fileOf('disk.raw', '')), {
    remove,
    queryPermission: async () => 'prompt',
    requestPermission: async () => 'granted',
  }) as unknown as FileSystemFileHandle;
  await interrupt({ kind: 'dialog', handle, name: 'disk.raw' });
  const [remains] = await remainsAtTargets(english);
  expect(remains!.text).toBe(english.fileInterrupted('disk.vdi', 'disk.raw', undefined));
  expect(await remains!.remove()).toBe(english.fileRemoved('disk.raw'));
  expect(remove).toHaveBeenCalledOnce();
});

test('after a week a file is forgotten', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  folder.add('disk.raw');
  await interrupt(inFolder(picked('prompt')));
  vi.advanceTimersByTime(7 * 86_400_000);
  expect(await remainsAtTargets(english)).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(await remainsAtTargets(english)).toEqual([]);
  expect(records.size).toBe(0);
});
