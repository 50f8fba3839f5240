// The description of an image while its map is read, and when a way to save it is proposed.

import type { Extent } from 'decant';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  Held,
  imageOf,
  images,
  inputNamed,
  OUTPUTS,
  openImage,
  outputOf,
  PAGE,
  screenIn,
} from '../element.test-support.js';
import { Session } from '../session/session.js';
import type { Step } from '../steps/state.js';
import { english } from '../texts/english/index.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  targets: async ({ size }: { size?: number } = {}) =>
    size === undefined ? kinds.promise : [{ name: 'opfs', fits: await fits.promise }],
}));

/** Resolves to whether the browser's storage has room for a disk. */
let fits: Held<boolean>;
/** The result of `targets()` without a size. */
let kinds: Held<{ name: string; refusal?: { code: string } }[]>;
let session: Session;
let rest: Held;
const pickFolder = vi.fn<() => Promise<FileSystemDirectoryHandle>>();

beforeEach(() => {
  vi.useFakeTimers();
  for (const [name, value] of Object.entries(PAGE)) vi.stubGlobal(name, value);
  // The page is in a frame, which may prevent saving.
  vi.stubGlobal('window', { parent: {} });
  vi.stubGlobal('showDirectoryPicker', pickFolder.mockReset());
  fits = new Held();
  fits.resolve(true);
  kinds = new Held();
  kinds.resolve([]);
  session = new Session(screenIn().screen.host, () => {});
  rest = new Held();
});
afterEach(() => {
  session.end();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const extent = (offset: number, length: number, more: Partial<Extent> = {}): Extent => ({
  ...{ offset, length, kind: 'data', depth: 0, compressed: false, encrypted: false },
  ...more,
});

/** Opens an image whose map lists the second half when `rest` resolves. */
async function open(): Promise<void> {
  const map = async function* () {
    yield extent(0, 1e6);
    yield extent(1e6, 1e6, { compressed: true });
    await rest.promise;
    yield extent(2e6, 1e6, { kind: 'lost' });
    yield extent(3e6, 2e6, { kind: 'zero' });
  };
  images.set('disk.qcow2', imageOf({}, { map, formats: [...OUTPUTS, QCOW2] }));
  session.take([inputNamed('disk.qcow2')]);
  await vi.dynamicImportSettled();
  await vi.advanceTimersByTimeAsync(0);
}

const QCOW2 = outputOf('qcow2', '.qcow2', { resumable: false, streamable: false });
const STREAMED = { obstacle: async () => undefined, open: () => Promise.reject(new Error('no')) };

const ready = () => session.state as Step<'ready'>;

test('a way is proposed at once, and stays when the map was read', async () => {
  await open();
  await vi.advanceTimersByTimeAsync(1999);
  expect(ready()).toMatchObject({ step: 'ready', way: 'download', isSettled: false, survey: { complete: false } });
  rest.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(ready().survey).toMatchObject({ data: 2e6, compressed: 1e6, lost: 1e6, complete: true });
  expect(ready()).toMatchObject({ way: 'download', isSettled: true });
  for (const choice of ready().choices) expect(choice).not.toHaveProperty('atLeast');
});

test('after two seconds, costs are shown as far as they are known', async () => {
  await open();
  await vi.advanceTimersByTimeAsync(2000);
  expect(ready().choices[0]).toMatchObject({ way: 'folder', space: 2e6, atLeast: true });
});

test('a way that the person has chosen stays', async () => {
  await open();
  session.chooser.select('download');
  await vi.advanceTimersByTimeAsync(2000);
  rest.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(ready()).toMatchObject({ way: 'download', survey: { complete: true } });
});

test('until the browser is known nothing is proposed, but the person can choose', async () => {
  fits = new Held();
  await open();
  expect(ready()).toMatchObject({ way: undefined, isSettled: false });
  await vi.advanceTimersByTimeAsync(2000);
  expect(ready()).toMatchObject({ way: undefined, isSettled: false, choices: [{}, { obstacle: english.finding }] });
  // The choices do not open by themselves while a proposal may come.
  expect(session.chooser.isChanging).toBe(false);
  fits.resolve(true);
  await vi.advanceTimersByTimeAsync(0);
  expect(ready().way).toBe('download');
});

test('the choices open if the person must choose, and close only by the person', async () => {
  await open();
  session.chooser.rename('a/b.raw');
  expect(session.chooser.isChanging).toBe(true);
  session.chooser.rename('ab.raw');
  expect([ready().nameProblem, session.chooser.isChanging]).toEqual([undefined, true]);
  session.chooser.openChange(false);
  expect(session.chooser.isChanging).toBe(false);
  session.chooser.rename('a/b.raw');
  expect(session.chooser.isChanging).toBe(true);
  session.reset();
  await open();
  expect(session.chooser.isChanging).toBe(false);
});

test('what was measured in this browser changes no proposal', async () => {
  // Here a folder is far faster.
  const rates = JSON.stringify({ storage: 25e6, picked: 1e9, finish: 1e9, download: 25e6, streamed: 25e6 });
  vi.stubGlobal('localStorage', { getItem: () => rates, setItem: () => {} });
  await open();
  rest.resolve();
  await vi.advanceTimersByTimeAsync(2000);
  expect(ready()).toMatchObject({ way: 'download', survey: { complete: true }, choices: [{ seconds: 0.007 }, {}] });
});

test('the chosen way is proposed on the next visit', async () => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
  await open();
  session.chooser.select('folder');
  session.end();
  session = new Session(screenIn().screen.host, () => {});
  await open();
  expect(ready()).toMatchObject({ way: 'folder', isChosen: false, reason: english.asBefore });
});

const FOREIGN = [{ name: 'folder', refusal: { code: 'foreign-frame' } }];

test('a chosen way that turns out to be impossible is not replaced by another one', async () => {
  kinds = new Held();
  await open();
  session.chooser.select('folder');
  await vi.advanceTimersByTimeAsync(2000);
  expect(ready().way).toBe('folder');
  kinds.resolve(FOREIGN);
  rest.resolve();
  await vi.advanceTimersByTimeAsync(5000);
  expect(ready()).toMatchObject({ way: undefined, lostWay: 'folder', survey: { complete: true } });
  expect(ready().choices[0]?.obstacle).toBe(english.foreignPicker);
  session.chooser.select('download');
  expect(ready()).toMatchObject({ way: 'download', lostWay: undefined });
});

test('a chosen way that is impossible for another output format is selected again with the first one', async () => {
  // The storage is too small, and nothing can be streamed: only an output of unknown size can be downloaded.
  fits = new Held();
  fits.resolve(false);
  await open();
  const [raw, gzip] = OUTPUTS;
  session.chooser.selectOutput(gzip!);
  await vi.advanceTimersByTimeAsync(2000);
  session.chooser.select('download');
  session.chooser.selectOutput(raw!);
  expect(ready()).toMatchObject({ way: undefined, lostWay: 'download' });
  session.chooser.selectOutput(gzip!);
  expect(ready()).toMatchObject({ way: 'download', lostWay: undefined });
});

/** Opens a disk of 2.2 MB of data with the first output as download, then chooses the second one, for which there is no room. */
async function outgrow(chooses: boolean): Promise<void> {
  fits = new Held();
  fits.resolve(false);
  session = new Session(screenIn({ streamedDownloads: STREAMED }).screen.host, () => {});
  rest.resolve();
  await open();
  await vi.advanceTimersByTimeAsync(2000);
  expect(ready().way).toBe('download');
  if (chooses) session.chooser.select('download');
  session.chooser.selectOutput(QCOW2);
}

test('a proposed download is no longer selected if another output probably does not fit', async () => {
  await outgrow(false);
  expect(ready()).toMatchObject({ way: 'folder', lostWay: undefined, reason: english.mayNotFit(0) });
});

test('a chosen download stays selected, but is not proposed for the next image if that probably does not fit', async () => {
  await outgrow(true);
  expect(ready()).toMatchObject({ way: 'download', output: QCOW2 });
  await open();
  await vi.advanceTimersByTimeAsync(2000);
  expect(ready()).toMatchObject({ way: 'folder', output: QCOW2 });
});

test('the question after a closed folder picker disappears with its way', async () => {
  pickFolder.mockRejectedValue(new DOMException('closed', 'AbortError'));
  await open();
  await vi.advanceTimersByTimeAsync(2000);
  session.chooser.select('folder');
  session.convert();
  await vi.advanceTimersByTimeAsync(0);
  expect(ready()).toMatchObject({ way: 'folder', asking: { kind: 'noFolder' } });
  session.chooser.select('download');
  expect(ready()).toMatchObject({ way: 'download', asking: undefined });
});

test('a folder picker that is closed after another way was chosen asks nothing', async () => {
  const picked = new Held<FileSystemDirectoryHandle>();
  pickFolder.mockReturnValue(picked.promise);
  await open();
  await vi.advanceTimersByTimeAsync(2000);
  session.chooser.select('folder');
  session.convert();
  session.chooser.select('download');
  picked.reject(new DOMException('closed', 'AbortError'));
  await vi.advanceTimersByTimeAsync(0);
  expect(ready()).toMatchObject({ way: 'download', asking: undefined, choosingTarget: false });
});

test('an image that the person has left is not shown again', async () => {
  await open();
  session.reset();
  rest.resolve();
  await vi.advanceTimersByTimeAsync(5000);
  expect(session.state).toEqual({ step: 'empty' });
});
