// The sentence about the remains of an unsuccessful conversion.

import { expect, test } from 'vitest';
import { fileHandle, fileOf, folderHandle } from '../element.test-support.js';
import type { Target } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { describeRemains, type StoredRemains } from './remains.js';

const before = fileOf('disk.raw', 'what was there');
const inFolder = (entry: FileSystemFileHandle | Error | undefined, replaces?: File): Target => ({
  kind: 'folder',
  folder: folderHandle('picked', entry ? { 'disk.raw': entry } : {}),
  name: 'disk.raw',
  replaces,
});

const STORED: Target = { kind: 'stored', name: 'disk.raw', kept: undefined };
const SWAP = 'disk.raw.crswap';
const inMoved = (replaces?: File): Target => ({
  kind: 'folder',
  name: 'disk.raw',
  replaces,
  folder: folderHandle('picked', {}, true),
});
const gone = Object.assign(fileHandle(fileOf('disk.raw')), {
  getFile: () => Promise.reject(new DOMException('There is no such file', 'NotFoundError')),
});

// (case, place, what is left in the storage, sentence)
for (const [what, target, rest, remains] of [
  ['nothing in the storage', STORED, 'nothing', english.nothingLeft],
  ['a part in the storage', STORED, 'kept', english.partKept],
  ['a file in the storage that stays for now', STORED, 5e6, english.stillStored(5e6)],
  ['something unknown in the storage', STORED, 'unknown', english.unknownLeft('disk.raw')],
  ['a failed download', { kind: 'streamed', name: 'disk.raw' }, 'nothing', english.streamLeft('disk.raw')],
  ['an output of the page', { kind: 'host', name: 'disk.raw' }, 'nothing', undefined],
  ['no new file', inFolder(undefined), 'nothing', english.nothingLeft],
  [
    'a new file in a folder that was moved',
    inMoved(),
    'nothing',
    english.folderMoved('picked', 'disk.raw', SWAP, false),
  ],
  [
    'an existing file in a folder that was moved',
    inMoved(before),
    'nothing',
    english.folderMoved('picked', 'disk.raw', SWAP, true),
  ],
  [
    'a file of the dialog that was moved',
    { kind: 'dialog', handle: gone, name: 'disk.raw' },
    'nothing',
    english.fileMoved('disk.raw', SWAP),
  ],
  ['the unchanged file', inFolder(fileHandle(before), before), 'nothing', english.asItWas('disk.raw')],
  [
    'another file',
    inFolder(fileHandle(fileOf('disk.raw', 'half')), before),
    'nothing',
    english.fileInFolderLeft('picked', 'disk.raw', SWAP),
  ],
  ['a file in a folder that cannot be read', inFolder(new Error('no')), 'nothing', english.unknownLeft('disk.raw')],
  [
    'an empty file of the dialog',
    { kind: 'dialog', handle: fileHandle(fileOf('disk.raw', '')), name: 'disk.raw' },
    'nothing',
    english.emptyLeft('disk.raw'),
  ],
  [
    'a file of the dialog',
    { kind: 'dialog', handle: fileHandle(fileOf('disk.raw', 'half')), name: 'disk.raw' },
    'nothing',
    english.fileLeft('disk.raw'),
  ],
] as [string, Target, StoredRemains, string | undefined][]) {
  test(`the remains: ${what}`, async () => expect(await describeRemains(target, rest, english)).toBe(remains));
}
