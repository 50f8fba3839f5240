// Saving the disk of an image: questions about the place, a cancel at any time, and reports of failures.

import { DecantError, type Leftover, type Progress } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  fileHandle,
  fileOf,
  folderHandle,
  Held,
  imageOf,
  images,
  inputNamed,
  OUTPUTS,
  openImage,
  progressOf,
  RESULT,
  soon,
} from '../element.test-support.js';
import { problem } from '../files/names.js';
import type { Step } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { isVerified } from '../ways/choices.js';
import {
  cancelledBy,
  conversions,
  converting,
  emitted,
  kept,
  open,
  pickFile,
  pickFolder,
  ready,
  saveTo,
  session,
  shown,
  step,
  there,
} from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  targets: async () => [{ name: 'opfs', fits: true }],
  leftovers: async () => {
    if (stored instanceof Error) throw stored;
    return stored;
  },
}));

/** The content of the browser's storage. */
let stored: Leftover[] | Error;
beforeEach(() => {
  stored = [];
});

test('a new file in a folder is written without a question, and the next image goes there too', async () => {
  const folder = folderHandle('picked', {});
  pickFolder.mockResolvedValue(folder);
  await open();
  await saveTo('folder');
  const { output, options, end } = await converting();
  expect(output).toEqual({ folder, name: 'disk.raw' });
  expect(options).toMatchObject({ format: 'raw', resume: false });
  end.resolve(RESULT);
  expect(await step('done')).toMatchObject({ target: { kind: 'folder', folder, name: 'disk.raw' }, tooLate: false });
  await open();
  await ready({ way: 'folder', folder });
  session.convert();
  await converting();
  expect(pickFolder).toHaveBeenCalledTimes(1);
});

test('a result is verified as the person chooses, and so is the next one', async () => {
  await open();
  await saveTo('download');
  const first = await converting();
  expect(first.options.verify).toBe(false);
  first.end.resolve(RESULT);
  await step('done');
  await open();
  session.chooser.verify(true);
  await saveTo('download');
  const second = await converting();
  expect(second.options.verify).toBe(true);
  second.end.resolve(RESULT);
  await step('done');
  await open();
  expect(isVerified(session.state as Step<'ready'>)).toBe(true);
});

test('reading back is a phase that continues the progress, and can be cancelled', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  await open();
  session.chooser.verify(true);
  await saveTo('download');
  const { options, end } = await converting();
  const shows = async (progress: Partial<Progress>) => {
    options.onProgress!(progressOf(progress));
    vi.advanceTimersByTime(1000);
    const { phase, share } = await step('converting');
    return [phase, share];
  };
  expect(await shows({ guestDone: 5e6, fraction: 0.5 })).toEqual(['converting', 0.9]);
  expect(await shows({ phase: 'verifying', fraction: 0.5 })).toEqual(['verifying', 0.9]);
  expect(await shows({ phase: 'verifying', fraction: 0.75 })).toEqual(['verifying', expect.closeTo(0.95)]);
  session.cancel();
  expect(options.signal!.aborted).toBe(true);
  end.reject(new DecantError('cancelled', 'The conversion was cancelled'));
  await step('failed');
});

test('the picture of the result shows the parts that the conversion lost', async () => {
  await open();
  await saveTo('download');
  const { end } = await converting();
  const lost = [{ offset: 2e6, length: 512, code: 'damaged', message: 'it is damaged' }];
  end.resolve({ ...RESULT, lost, lostRanges: 1, lostBytes: 512 });
  const { picture } = await step('done');
  expect(picture?.legend.contents).toContain('lost');
  expect(picture?.summary(2e6, 2e6 + 1).content).toBe('lost');
});

test('an existing file is replaced only if the person agrees', async () => {
  const folder = folderHandle('picked', { 'disk.raw': fileHandle(there), 'disk-1.raw': fileHandle(there) });
  pickFolder.mockResolvedValue(folder);
  await open();
  await saveTo('folder');
  await ready({
    asking: { kind: 'replace', folder, name: 'disk.raw', freeName: 'disk-2.raw', there },
    choosingTarget: false,
  });
  expect(conversions).toEqual([]);
  session.replace();
  const { output, end } = await converting();
  expect(output).toEqual({ folder, name: 'disk.raw' });
  end.resolve(RESULT);
  expect(await step('done')).toMatchObject({ target: { replaces: there } });
});

test('beside an existing file, the disk gets a free name', async () => {
  const folder = folderHandle('picked', { 'disk.raw': fileHandle(there) });
  pickFolder.mockResolvedValue(folder);
  await open();
  await saveTo('folder');
  await ready({ asking: expect.objectContaining({ kind: 'replace' }) });
  session.useFreeName();
  expect((await converting()).output).toEqual({ folder, name: 'disk-1.raw' });
});

test('the name of the image is not free, wherever the image is', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', { 'disk.raw': fileHandle(there) }));
  await open({}, 'disk-1.raw');
  session.chooser.rename('disk.raw');
  await saveTo('folder');
  await ready({ asking: expect.objectContaining({ kind: 'replace', freeName: 'disk-2.raw' }) });
});

test('the image itself is never replaced', async () => {
  const image = inputNamed('disk.qcow2');
  const folder = folderHandle('picked', { 'disk.qcow2': fileHandle(image.file) });
  pickFolder.mockResolvedValue(folder);
  await open();
  session.chooser.rename('disk.qcow2');
  await saveTo('folder');
  await ready({ asking: { kind: 'source', folder, name: 'disk.qcow2', freeName: 'disk-1.qcow2' } });
  session.replace();
  expect(conversions).toEqual([]);
  session.useFreeName();
  expect((await converting()).output).toEqual({ folder, name: 'disk-1.qcow2' });
});

// (case, entry of the folder, problem with the name)
for (const [what, entry, nameProblem] of [
  ['a folder with the name', folderHandle('disk.raw', {}), english.folderOfName],
  ['a name that the browser refuses', new TypeError('Name is not allowed'), english.nameRefused],
] as const) {
  test(`in the folder: ${what}`, async () => {
    pickFolder.mockResolvedValue(folderHandle('picked', { 'disk.raw': entry }));
    await open();
    await saveTo('folder');
    await ready({ nameProblem: problem(nameProblem), asking: undefined, choosingTarget: false });
    session.chooser.rename('other.raw');
    await ready({ nameProblem: undefined });
    session.convert();
    await converting();
  });
}

test('a lost folder is asked for again', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', { 'disk.raw': new DOMException('gone', 'NotAllowedError') }));
  await open();
  await saveTo('folder');
  await ready({ folder: undefined, asking: { kind: 'noFolder' } });
});

test('an impossible name is refused before the person is asked for a place', async () => {
  await open();
  session.chooser.rename('a/b');
  await saveTo('folder');
  await ready({ nameProblem: problem(english.badName('/')), nameRefusals: 1 });
  session.convert();
  await ready({ nameProblem: problem(english.badName('/')), nameRefusals: 2 });
  expect(pickFolder).not.toHaveBeenCalled();
});

test('after a closed dialog the image stays, and so does a folder that was picked before', async () => {
  pickFolder.mockRejectedValue(new DOMException('closed', 'AbortError'));
  await open();
  await saveTo('folder');
  await ready({ asking: { kind: 'noFolder' }, picking: false, choosingTarget: false });
  const folder = folderHandle('picked', {});
  pickFolder.mockResolvedValueOnce(folder);
  session.pickFolder();
  await ready({ folder, asking: undefined });
  session.pickFolder();
  await ready({ folder, asking: undefined, choosingTarget: false });
  expect(pickFolder).toHaveBeenCalledTimes(3);
});

test('a folder that is picked is where the disk is saved; a closed dialog leaves the way as it was', async () => {
  pickFolder.mockRejectedValueOnce(new DOMException('closed', 'AbortError'));
  await open();
  session.pickFolder();
  await ready({ way: 'download', isChosen: false, asking: { kind: 'noFolder' }, choosingTarget: false });
  const folder = folderHandle('picked', {});
  pickFolder.mockResolvedValueOnce(folder);
  session.pickFolder();
  await ready({ way: 'folder', isChosen: true, folder, asking: undefined, choosingTarget: false });
  session.convert();
  expect((await converting()).output).toEqual({ folder, name: 'disk.raw' });
  expect(pickFolder).toHaveBeenCalledTimes(2);
});

test('if the browser refuses its dialog, the download remains, and is not selected by itself', async () => {
  pickFolder.mockRejectedValue(new DOMException('no', 'SecurityError'));
  await open();
  await saveTo('folder');
  await ready({ way: undefined, lostWay: 'folder', choosingTarget: false });
  session.convert();
  expect(conversions).toEqual([]);
  await saveTo('download');
  await converting();
  expect(shown.filter((state) => state.step === 'ready' && state.way === 'download' && state.lostWay)).toEqual([]);
  const { choices } = shown.findLast((state) => state.step === 'ready') as Step<'ready'>;
  expect(choices.map(({ way, obstacle }) => [way, obstacle])).toEqual([
    ['folder', english.pickerFailed],
    ['download', undefined],
  ]);
});

test('the disk is written to the file of the save dialog', async () => {
  const handle = fileHandle(fileOf('mine.raw', ''));
  pickFile.mockResolvedValue(handle);
  await open();
  session.convert('dialog');
  const { output, end } = await converting();
  expect(output).toBe(handle);
  expect(pickFile).toHaveBeenCalledWith(expect.objectContaining({ suggestedName: 'disk.raw' }));
  end.reject(new DecantError('target', 'The disk is full'));
  expect(await step('failed')).toMatchObject({
    title: english.notConverted('disk.qcow2'),
    message: 'The disk is full.',
    remains: english.emptyLeft('mine.raw'),
    remedies: ['saveAgain'],
  });
});

test('while a dialog is open, the image and its name stay, and new files wait', async () => {
  const picked = new Held<FileSystemDirectoryHandle>();
  pickFolder.mockReturnValue(picked.promise);
  await open();
  await saveTo('folder');
  await ready({ choosingTarget: true, picking: true });
  expect(session.isBusy).toBe(true);
  session.reset();
  session.chooser.rename('other.raw');
  session.convert();
  session.chooser.selectOutput(OUTPUTS[2]!);
  images.set('b.qcow2', imageOf());
  session.take([inputNamed('b.qcow2')]);
  await soon(() => expect(session.news).toBe(english.queued.added(['b.qcow2'])));
  await ready({ name: 'disk.raw', output: OUTPUTS[0]!, choosingTarget: true });
  picked.resolve(folderHandle('picked', {}));
  expect((await converting()).output).toMatchObject({ name: 'disk.raw' });
  expect(pickFolder).toHaveBeenCalledTimes(1);
});

test('a cancel ends the conversion once, and the remains are reported', async () => {
  const folder = folderHandle('picked', { 'disk.raw': fileHandle(there) });
  pickFolder.mockResolvedValue(folder);
  await open();
  await saveTo('folder');
  await ready({ asking: expect.objectContaining({ kind: 'replace' }) });
  session.replace();
  const { options, end } = await converting();
  cancelledBy(options.signal).catch(end.reject);
  session.cancel();
  const { length } = shown;
  session.cancel();
  expect(shown).toHaveLength(length);
  expect(await step('failed')).toEqual({
    step: 'failed',
    asks: false,
    title: english.cancelled,
    message: undefined,
    remains: english.asItWas('disk.raw'),
    remedies: ['saveAgain'],
  });
  expect(emitted.map(([type]) => type)).toEqual(['decant-info', 'decant-error']);
  expect(session.queue.items[0]).toMatchObject({ status: 'failed', outcome: english.queued.cancelled });
});

test('a cancel that comes too late is reported with the result', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', {}));
  await open();
  await saveTo('folder');
  const { end } = await converting();
  session.cancel();
  await soon(() => expect(session.state).toMatchObject({ step: 'converting', cancelling: true }));
  end.resolve(RESULT);
  expect((await step('done')).tooLate).toBe(true);
});

test('an impossible name is refused while it is typed', async () => {
  await open();
  session.chooser.rename('x'.repeat(304));
  await ready({ nameProblem: problem(english.longName(304, 248), 'long') });
  session.chooser.rename('disk.');
  await ready({ nameProblem: undefined });
});

test('a folder is not proposed again after writing to it has failed', async () => {
  pickFolder.mockResolvedValue(folderHandle('picked', {}));
  await open();
  await saveTo('folder');
  (await converting()).end.reject(new DecantError('target', 'The disk is full'));
  expect(await step('failed')).toMatchObject({ remains: english.nothingLeft });
  session.takeRemedy('saveAgain');
  await ready({ way: 'folder', folder: undefined });
});

test('a download for which the storage was too full is not proposed again for this image', async () => {
  await open();
  await saveTo('download');
  (await converting()).end.reject(new DecantError('target', 'The storage is full', { code: 'storage-full' }));
  await step('failed');
  session.takeRemedy('saveAgain');
  await ready({ way: 'folder' });
  session.reset();
  await open();
  await ready({ way: 'download' });
});

test('not even if there is no other way', async () => {
  vi.stubGlobal('showDirectoryPicker', undefined);
  Reflect.deleteProperty(globalThis, 'showDirectoryPicker');
  Reflect.deleteProperty(globalThis, 'showSaveFilePicker');
  await open();
  await saveTo('download');
  (await converting()).end.reject(new DecantError('target', 'The storage is full', { code: 'storage-full' }));
  await step('failed');
  session.takeRemedy('saveAgain');
  await ready({ survey: expect.objectContaining({ complete: true }), way: undefined });
});

test('a conversion whose element leaves the page is no longer shown, and is reported as cancelled at its end', async () => {
  await open();
  await saveTo('download');
  const { options, end } = await converting();
  session.end();
  expect(options.signal?.aborted).toBe(true);
  expect(emitted.map(([type]) => type)).toEqual(['decant-info']);
  end.reject(new DecantError('cancelled', 'The image was closed'));
  await soon(() => expect(emitted.at(-1)).toMatchObject(['decant-error', { kind: 'cancelled' }]));
  expect(session.state).toEqual({ step: 'empty' });
});

test('a conversion that is complete when its element leaves the page is reported as done', async () => {
  await open();
  await saveTo('download');
  const { end } = await converting();
  session.end();
  end.resolve(RESULT);
  await soon(() => expect(emitted.at(-1)).toEqual(['decant-done', RESULT]));
  expect(session.state).toEqual({ step: 'empty' });
});

test('a download has the name that the browser gives to it', async () => {
  await open();
  session.chooser.rename('.hidden');
  await saveTo('download');
  expect((await converting()).output).toEqual({ download: 'hidden' });
});

test('an interrupted download is searched for before the click, once', async () => {
  const search = vi.fn(async () => kept(0));
  await open({ savedProgress: search });
  await soon(() => expect(search).toHaveBeenCalledTimes(1));
  await saveTo('download');
  await converting();
  expect(search).toHaveBeenCalledTimes(1);
});

test('an interrupted download in another format is searched for with the click', async () => {
  const search = vi.fn(async () => kept(0));
  await open({ savedProgress: search });
  await soon(() => expect(search).toHaveBeenCalledTimes(1));
  session.chooser.selectOutput(OUTPUTS[2]!);
  await saveTo('download');
  await converting();
  expect(search).toHaveBeenCalledTimes(2);
  expect(search).toHaveBeenLastCalledWith({ download: 'disk.vhd' }, expect.objectContaining({ format: 'vpc' }));
});

test('an interrupted download is resumed', async () => {
  const remains = kept(2e6);
  await open({ savedProgress: async () => remains });
  await saveTo('download');
  await ready({ asking: { kind: 'resume', name: 'disk.raw', share: 0.4, kept: remains }, choosingTarget: false });
  session.download(true);
  const { output, options } = await converting();
  expect(output).toEqual({ download: 'disk.raw' });
  expect(options.resume).toBe(true);
  expect(remains.discard).not.toHaveBeenCalled();
});

test('a download that another tab has resumed is left to it', async () => {
  const [remains, none] = [kept(2e6), kept(0)];
  const found = [remains, none];
  await open({ savedProgress: async () => found.shift() });
  await saveTo('download');
  await ready({ asking: expect.objectContaining({ kind: 'resume' }), choosingTarget: false });
  session.download(true);
  await ready({ asking: { kind: 'elsewhere', name: 'disk.raw', kept: remains } });
  session.downloadAgain();
  expect((await converting()).output).toEqual({ download: 'disk.raw' });
  expect(remains.discard).not.toHaveBeenCalled();
});

test('a download that was interrupted near its end is not called complete', async () => {
  await open({ savedProgress: async () => kept(5e6 - 1) });
  await saveTo('download');
  await ready({ asking: expect.objectContaining({ kind: 'resume', share: 0.99 }) });
  expect(english.goOnTitle(0.99)).toContain('99%');
});

test('an interrupted download is started over', async () => {
  const remains = kept(2e6);
  await open({ savedProgress: async () => remains });
  await saveTo('download');
  await ready({ asking: expect.objectContaining({ kind: 'resume' }), choosingTarget: false });
  session.download(false);
  expect((await converting()).options.resume).toBe(true);
  expect(remains.discard).toHaveBeenCalledTimes(1);
});

test('the part before a failure is kept and reported, the part before a cancel is not', async () => {
  const remains = kept(0);
  await open({ savedProgress: async () => remains });
  await saveTo('download');
  const first = await converting();
  Object.assign(remains, { guestDone: 1e6 });
  const reason = 'The server answers 403';
  first.end.reject(new DecantError('source', `${reason}; it is kept`, { fields: { reason, resumable: true } }));
  expect(await step('failed')).toMatchObject({ message: 'The server answers 403.', remains: english.partKept });
  expect(remains.discard).not.toHaveBeenCalled();
  Object.assign(remains, { guestDone: 0 });
  await open({ savedProgress: async () => remains });
  await saveTo('download');
  const { options, end } = await converting();
  cancelledBy(options.signal).catch(end.reject);
  session.cancel();
  expect(await step('failed')).toMatchObject({ remains: english.nothingLeft });
  expect(remains.discard).toHaveBeenCalledTimes(1);
});

// (case, fields of the error, what the storage has, what is said)
for (const [what, fields, there, remains] of [
  ['a part is kept', { resumable: true }, [], english.partKept],
  ['the image has changed, and the part was removed', {}, [], english.nothingLeft],
  ['the browser does not remove the file yet', { stored: 5e6 }, [], english.stillStored(5e6)],
  ['an earlier part was not resumed', {}, ['disk.qcow2'], english.partKept],
  ['there is a part of another image', {}, ['other.qcow2'], english.nothingLeft],
  ['the storage cannot be listed', {}, new Error('no storage'), english.unknownLeft('disk.raw')],
] as const) {
  test(`a failed download: ${what}`, async () => {
    stored =
      there instanceof Error ? there : there.map((image) => ({ kind: 'download', image, size: 5e6, ...kept(1e6) }));
    await open({ savedProgress: async () => kept(0) });
    await saveTo('download');
    (await converting()).end.reject(new DecantError('source', 'It is gone', { fields }));
    expect(await step('failed')).toMatchObject({ remains });
  });
}

// (case, what discarding the part does, what is said)
for (const [what, discard, remains] of [
  ['the part is gone', async () => {}, english.nothingLeft],
  [
    'the browser does not remove the part yet',
    () => Promise.reject(new DecantError('target', 'Busy', { fields: { stored: 5e6 } })),
    english.stillStored(5e6),
  ],
  ['nobody knows', () => Promise.reject(new Error('no storage')), english.unknownLeft('disk.raw')],
] as const) {
  test(`a cancelled download: ${what}`, async () => {
    await open({ savedProgress: async () => ({ guestDone: 0, discard }) });
    await saveTo('download');
    const { options, end } = await converting();
    cancelledBy(options.signal).catch(end.reject);
    session.cancel();
    expect(await step('failed')).toMatchObject({ remains });
  });
}

test('the progress is shown five times a second and only grows', async () => {
  await open({ map: async function* () {} });
  vi.useFakeTimers();
  await saveTo('download');
  await vi.advanceTimersByTimeAsync(0);
  const { options, end } = conversions.at(-1)!;
  shown.length = 0;
  for (const guestDone of [0, 1e6, 2e6, 1e6, 3e6, 5e6]) {
    options.onProgress!(progressOf({ guestDone }));
    await vi.advanceTimersByTimeAsync(200);
  }
  const shares = shown.map((state) => (state as Step<'converting'>).share);
  expect(shares).toEqual([0, 0.2, 0.4, 0.4, 0.6, 1]);
  expect(emitted.filter(([type]) => type === 'decant-progress')).toHaveLength(6);
  end.resolve(RESULT);
  await vi.advanceTimersByTimeAsync(0);
  expect(session.state.step).toBe('done');
  shown.length = 0;
  await vi.advanceTimersByTimeAsync(1000);
  expect(shown).toEqual([]);
});

test('the removal of the temporary copy of a download is shown', async () => {
  await open();
  await saveTo('download');
  const { end } = await converting();
  vi.useFakeTimers();
  end.resolve({ ...RESULT, copyExpires: new Date(Date.now() + 5000) });
  await vi.advanceTimersByTimeAsync(0);
  expect(session.state).toMatchObject({ step: 'done', isCopyGone: false });
  await vi.advanceTimersByTimeAsync(4999);
  expect(session.state).toMatchObject({ isCopyGone: false });
  await vi.advanceTimersByTimeAsync(1);
  expect(session.state).toMatchObject({ isCopyGone: true });
});
