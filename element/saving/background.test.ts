// Conversions in the background: the browser checks their files while the element converts other images.

import { DecantError } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  fileHandle,
  fileOf,
  folderHandle,
  Held,
  imageOf,
  images,
  inputNamed,
  openImage,
  progressOf,
  RESULT,
  soon,
} from '../element.test-support.js';
import { problem } from '../files/names.js';
import { english } from '../texts/english/index.js';
import {
  cancelledBy,
  conversions,
  convert,
  converting,
  emitted,
  open,
  pickFile,
  pickFolder,
  ready,
  saveTo,
  session,
  step,
  there,
} from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
  leftovers: async () => [],
}));

/** The files in the picked folder. */
let entries: Record<string, FileSystemFileHandle>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  closed.mockClear();
  entries = {};
  pickFolder.mockImplementation(async () => folderHandle('picked', entries));
});

const closed = vi.fn(async () => {});
const cards = () =>
  session.queue.inBackground.map(({ status, outcome, background }) => [background.state.target.name, status, outcome]);
const events = () => emitted.map(([type]) => type);

/** Lets the browser complete the file of the conversion that is shown for two seconds. */
async function finishing() {
  const conversion = await converting();
  conversion.options.onProgress!(progressOf({ phase: 'finalizing' }));
  vi.advanceTimersByTime(2000);
  expect(session.state).toMatchObject({ step: 'converting', phase: 'finishing' });
  return conversion;
}

/** Converts `name` into the folder, and leaves the file to the browser. */
async function left(name = 'disk.qcow2', more = {}) {
  await open({ close: closed, ...more }, name);
  await saveTo('folder');
  const conversion = await finishing();
  session.leaveToBrowser();
  return conversion;
}

test('the first screen is shown, and neither the conversion nor its image ends', async () => {
  const { options, end } = await left();
  expect(session.state.step).toBe('empty');
  expect(session.isBusy).toBe(false);
  expect(cards()).toEqual([['disk.raw', 'checking', '']]);
  expect(session.queue.isShown).toBe(false);
  await open({}, 'other.qcow2');
  session.reset();
  expect(options.signal!.aborted).toBe(false);
  expect(closed).not.toHaveBeenCalled();
  options.onProgress!(progressOf({ phase: 'finalizing' }));
  expect(events().filter((type) => type === 'decant-progress')).toHaveLength(1);
  end.resolve(RESULT);
  const saved = { kind: 'folder', folder: { name: 'picked' }, name: 'disk.raw' } as const;
  await soon(() => expect(cards()).toEqual([['disk.raw', 'done', english.queued.saved(saved, 5e6)]]));
  await soon(() => expect(closed).toHaveBeenCalledOnce());
  expect(emitted.at(-1)).toEqual(['decant-done', RESULT]);
  expect(session.state.step).toBe('empty');
});

test('it is left only while the browser completes a file for some time', async () => {
  await open();
  session.leaveToBrowser();
  expect(session.state.step).toBe('ready');
  await saveTo('folder');
  await converting();
  session.leaveToBrowser();
  await finishing();
  expect(cards()).toEqual([]);
});

test('it is not left once it has failed', async () => {
  await open();
  await saveTo('folder');
  const { end } = await finishing();
  const reading = new Held<File>();
  entries['disk.raw'] = { ...fileHandle(there), getFile: () => reading.promise };
  end.reject(isFull);
  await soon(() => expect(events()).toContain('decant-error'));
  session.leaveToBrowser();
  reading.resolve(fileOf('disk.raw', ''));
  expect(await step('failed')).toMatchObject({ remains: english.emptyLeft('disk.raw') });
  expect(cards()).toEqual([]);
});

test('the card shows how far it is, and the browser leaves it', async () => {
  await open();
  await saveTo('folder');
  const { options } = await finishing();
  session.leaveToBrowser();
  const state = () => session.queue.inBackground[0]!.background.state;
  const { finishing: before } = state();
  vi.advanceTimersByTime(3000);
  expect(state().finishing! - before!).toBeCloseTo(3);
  expect(state()).toMatchObject({ phase: 'finishing', cancelling: false });
  options.onProgress!(progressOf({ phase: 'verifying', fraction: 0.9 }));
  vi.advanceTimersByTime(200);
  expect(state().phase).toBe('verifying');
});

const isFull = new DecantError('target', 'The disk is full');
const isDone = { ...RESULT, lostBytes: 512, lostRanges: 1 };
// (case, the existing file, whether it is cancelled, how it ends, status of the card, outcome, notices)
test.each([
  ['an error', undefined, false, isFull, 'failed', `The disk is full. ${english.nothingLeft}`, undefined],
  ['a cancel', undefined, true, undefined, 'failed', `${english.cancelled} ${english.nothingLeft}`, undefined],
  ['a late cancel', there, true, RESULT, 'done', 'saved as disk.raw in picked, 5\u00a0MB', [english.wasTooLate]],
  ['losses', undefined, false, isDone, 'done', `saved as disk.raw in picked, 5\u00a0MB. ${english.lost(512, 1)}`, []],
] as const)('the card shows the end: %s', async (_, before, cancels, end, status, outcome, notices) => {
  await open({ close: closed });
  if (before) entries['disk.raw'] = fileHandle(before);
  await saveTo('folder');
  if (before) {
    await ready({ asking: expect.objectContaining({ kind: 'replace' }), choosingTarget: false });
    session.replace();
  }
  const conversion = await finishing();
  session.leaveToBrowser();
  const { id } = session.queue.inBackground[0]!;
  cancelledBy(conversion.options.signal).catch(conversion.end.reject);
  if (cancels) session.cancelInBackground(id);
  if (end instanceof DecantError) conversion.end.reject(end);
  else if (end) conversion.end.resolve(end);
  await soon(() => expect(cards()).toEqual([['disk.raw', status, outcome]]));
  expect(session.queue.inBackground[0]!.notices).toEqual(notices);
  await soon(() => expect(closed).toHaveBeenCalledOnce());
  expect(events().filter((type) => type === (status === 'done' ? 'decant-done' : 'decant-error'))).toHaveLength(1);
  expect(session.state.step).toBe('empty');
});

test('a failed one is opened again from its card', async () => {
  const { end } = await left();
  end.reject(isFull);
  await soon(() => expect(cards()).toEqual([['disk.raw', 'failed', expect.anything()]]));
  session.openNext(session.queue.inBackground[0]!.id);
  await ready({ label: 'disk.qcow2', way: 'folder', folder: undefined });
  expect(cards()).toEqual([]);
});

test('several files are checked at once, each with its own end, and results stay until they are dismissed', async () => {
  const [first, second] = [await left(), await left('b.qcow2')];
  expect(cards().map(([name]) => name)).toEqual(['disk.raw', 'b.raw']);
  second.end.resolve(RESULT);
  await soon(() => expect(cards().map(([, status]) => status)).toEqual(['checking', 'done']));
  await open({}, 'c.qcow2');
  await saveTo('download');
  const third = await converting();
  first.end.reject(isFull);
  await soon(() => expect(cards().map(([, status]) => status)).toEqual(['failed', 'done']));
  expect(session.state.step).toBe('converting');
  third.end.resolve(RESULT);
  await step('done');
  expect(session.overall).toBeUndefined();
  session.reset();
  for (const { id } of session.queue.inBackground) session.dismiss(id);
  expect(cards()).toEqual([]);
});

test('the news of the image that is shown stay', async () => {
  const { end } = await left();
  images.set('b.qcow2', imageOf({}, { convert }));
  session.takeFrom('dropped', () => Promise.reject(new Error('gone')));
  await soon(() => expect(session.state).toEqual({ step: 'empty', notice: english.notFetched('dropped') }));
  await open({}, 'b.qcow2');
  session.takeFrom('more', () => Promise.reject(new Error('gone')));
  await soon(() => expect(session.news).toBe(english.notFetched('more')));
  end.resolve(RESULT);
  await soon(() => expect(cards()[0]![1]).toBe('done'));
  expect(session.news).toBe(english.notFetched('more'));
});

// (case, name and folder of the second file, whether its name is refused)
test.each([
  ['the same name', 'disk.raw', true, true],
  ['the same name in other letters', 'DISK.raw', true, true],
  ['another name', 'other.raw', true, false],
  ['another folder', 'disk.raw', false, false],
] as const)('a second file while the browser checks the first: %s', async (_, name, isSame, isRefused) => {
  const { end } = await left();
  await open();
  await ready({ name: 'disk-1.raw' });
  session.chooser.folder = undefined;
  session.chooser.rename(name);
  if (!isSame) pickFolder.mockImplementation(async () => folderHandle('other', {}));
  session.pickFolder();
  await ready({ folder: expect.objectContaining({ name: isSame ? 'picked' : 'other' }), choosingTarget: false });
  session.convert();
  if (isRefused) {
    await ready({ nameProblem: problem(english.nameChecked), choosingTarget: false });
    end.resolve(RESULT);
    await soon(() => expect(cards()[0]![1]).toBe('done'));
  } else await soon(() => expect(conversions).toHaveLength(2));
});

test('the file of the save dialog is not the one that the browser checks', async () => {
  const entry = {};
  pickFile.mockImplementation(async () => fileHandle(fileOf('mine.raw'), entry));
  await open();
  await saveTo('dialog');
  await finishing();
  session.leaveToBrowser();
  await open();
  await saveTo('dialog');
  await ready({ nameProblem: problem(english.nameChecked), choosingTarget: false });
  expect(conversions).toHaveLength(1);
});

test('with a queue, the next image opens; a batch converts the others', async () => {
  for (const name of ['a', 'b', 'c']) images.set(`${name}.qcow2`, imageOf({ name: `${name}.qcow2` }, { convert }));
  session.take(['a.qcow2', 'b.qcow2', 'c.qcow2'].map((name) => inputNamed(name)));
  await ready({ label: 'a.qcow2', way: expect.anything() });
  session.chooser.select('folder');
  session.pickFolder();
  await ready({ folder: expect.anything(), choosingTarget: false });
  session.convertAll();
  const first = await finishing();
  session.leaveToBrowser();
  await soon(() => expect(conversions).toHaveLength(2));
  conversions[1]!.end.resolve(RESULT);
  await soon(() => expect(conversions).toHaveLength(3));
  first.end.resolve(RESULT);
  conversions[2]!.end.resolve(RESULT);
  await soon(() => expect(session.overall).toEqual({ done: 2, all: 2, failed: [], damaged: [] }));
  await soon(() => expect(cards()).toEqual([['a.raw', 'done', expect.anything()]]));
});

test('an element that leaves the page ends them', async () => {
  const { options, end } = await left();
  session.end();
  expect(options.signal!.aborted).toBe(true);
  await soon(() => expect(closed).toHaveBeenCalledOnce());
  expect(cards()).toEqual([]);
  end.reject(new DecantError('cancelled', 'The image was closed'));
  await soon(() => expect(emitted.at(-1)).toMatchObject(['decant-error', { kind: 'cancelled' }]));
});
