// The sentence about the remains of an unsuccessful conversion.

import { expect, test } from 'vitest';
import { english, fileHandle, fileOf, folderHandle } from '../e2e/support/units/element.js';
import { leftBehind } from './left-behind.js';
import type { Place } from './state.js';

const before = fileOf('disk.raw', 'what was there');
const inFolder = (entry: FileSystemFileHandle | Error | undefined, replaces?: File): Place => ({
  kind: 'folder',
  folder: folderHandle('picked', entry ? { 'disk.raw': entry } : {}),
  name: 'disk.raw',
  replaces,
});

const SWAP = 'disk.raw.crswap';
const inMoved = (replaces?: File): Place => ({
  kind: 'folder',
  name: 'disk.raw',
  replaces,
  folder: folderHandle('picked', {}, true),
});
const gone = Object.assign(fileHandle(fileOf('disk.raw')), {
  getFile: () => Promise.reject(new DOMException('There is no such file', 'NotFoundError')),
});

// (case, place, whether a part is kept, sentence)
for (const [what, place, isKept, left] of [
  ['nothing in the storage', { kind: 'stored', name: 'disk.raw', kept: undefined }, false, english.nothingLeft],
  ['a part in the storage', { kind: 'stored', name: 'disk.raw', kept: undefined }, true, english.partKept],
  ['a failed download', { kind: 'streamed', name: 'disk.raw' }, false, english.streamLeft('disk.raw')],
  ['an output of the page', { kind: 'host', name: 'disk.raw' }, false, undefined],
  ['no new file', inFolder(undefined), false, english.nothingLeft],
  ['a new file in a folder that was moved', inMoved(), false, english.folderMoved('picked', 'disk.raw', SWAP, false)],
  [
    'an existing file in a folder that was moved',
    inMoved(before),
    false,
    english.folderMoved('picked', 'disk.raw', SWAP, true),
  ],
  [
    'a file of the dialog that was moved',
    { kind: 'dialog', handle: gone, name: 'disk.raw' },
    false,
    english.fileMoved('disk.raw', SWAP),
  ],
  ['the unchanged file', inFolder(fileHandle(before), before), false, english.asItWas('disk.raw')],
  [
    'another file',
    inFolder(fileHandle(fileOf('disk.raw', 'half')), before),
    false,
    english.fileInFolderLeft('picked', 'disk.raw', SWAP),
  ],
  ['a file in a folder that cannot be read', inFolder(new Error('no')), false, english.unknownLeft('disk.raw')],
  [
    'an empty file of the dialog',
    { kind: 'dialog', handle: fileHandle(fileOf('disk.raw', '')), name: 'disk.raw' },
    false,
    english.emptyLeft('disk.raw'),
  ],
  [
    'a file of the dialog',
    { kind: 'dialog', handle: fileHandle(fileOf('disk.raw', 'half')), name: 'disk.raw' },
    false,
    english.fileLeft('disk.raw'),
  ],
] as [string, Place, boolean, string | undefined][]) {
  test(`the remains: ${what}`, async () => expect(await leftBehind(place, isKept, english)).toBe(left));
}
