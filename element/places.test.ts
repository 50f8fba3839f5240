// The places where disks are saved, and the remains of unsuccessful conversions.

import { DecantError, type Output } from 'decant';
import { expect, test, vi } from 'vitest';
import { fileHandle, fileOf, folderHandle, infoOf, outputOf, stageIn } from '../e2e/support/units/element.js';
import { leftBehind, outputAt } from './places.js';
import type { Place } from './state.js';
import { english } from './texts/english.js';
import type { DecantConverterElement } from './types.element.js';

const disk = { info: infoOf(), format: outputOf('raw', '.raw', { size: 5e6 }), name: 'disk.raw' };
const { signal } = new AbortController();
const folder = folderHandle('picked', {});
const handle = fileHandle(fileOf('disk.raw'));
const { stage } = stageIn();

for (const [place, output] of [
  [
    { kind: 'folder', folder, name: 'disk.raw', replaces: undefined },
    { folder, name: 'disk.raw' },
  ],
  [{ kind: 'dialog', handle, name: 'disk.raw' }, handle],
  [{ kind: 'stored', name: 'disk.raw', kept: undefined }, { download: 'disk.raw' }],
] as [Place, Output][]) {
  test(`the output at a place: ${place.kind}`, async () => {
    expect(await outputAt(place, disk, signal, stage)).toEqual({ output, signal });
  });
}

for (const which of ['ended', 'cancelled'] as const) {
  test(`a stream is cancelled by the conversion or by the browser: ${which}`, async () => {
    const ends = { ended: new AbortController(), cancelled: new AbortController() };
    const writable = new WritableStream<Uint8Array>();
    const open = vi.fn(async () => ({ writable, cancelled: ends.cancelled.signal, taken: () => 7 }));
    const { stage } = stageIn({ streamedDownloads: { obstacle: async () => undefined, open } });
    const opened = await outputAt({ kind: 'streamed', name: 'disk.raw' }, disk, ends.ended.signal, stage);
    expect(opened.output).toBe(writable);
    expect(opened.taken?.()).toBe(7);
    expect(open).toHaveBeenCalledWith('disk.raw', 5e6, ends.ended.signal);
    expect(opened.signal.aborted).toBe(false);
    ends[which].abort();
    expect(opened.signal.aborted).toBe(true);
  });
}

test('a stream that does not start is a failure of the output', async () => {
  const open = () => Promise.reject(new Error('no answer'));
  const { stage } = stageIn({ streamedDownloads: { obstacle: async () => undefined, open } });
  const failed = outputAt({ kind: 'streamed', name: 'disk.raw' }, disk, signal, stage);
  await expect(failed).rejects.toMatchObject({ kind: 'target', message: english.noStream('no answer') });
});

test('an error that the page throws is a failure of the output, unless it is a DecantError', async () => {
  const at = (thrown: unknown) =>
    outputAt({ kind: 'host', name: 'disk.raw' }, disk, signal, stageIn({ output: () => Promise.reject(thrown) }).stage);
  await expect(at(new Error('Your quota is used up'))).rejects.toMatchObject({
    kind: 'target',
    message: 'Your quota is used up',
  });
  await expect(at(new DecantError('usage', 'wrong'))).rejects.toMatchObject({ kind: 'usage', message: 'wrong' });
  for (const thrown of ['nope', undefined, 7])
    await expect(at(thrown)).rejects.toMatchObject({ kind: 'target', message: String(thrown) });
});

test('an output that is not a function', async () => {
  const { stage } = stageIn({ output: 'disk.raw' as unknown as DecantConverterElement['output'] });
  const failed = outputAt({ kind: 'host', name: 'disk.raw' }, disk, signal, stage);
  await expect(failed).rejects.toMatchObject({ kind: 'usage', message: 'output must be a function' });
});

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
