// The ways to save a disk, their costs, and the proposed one.

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { infoOf } from '../../worker/api/info.test-support.js';
import { outputOf, screenIn } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import {
  type Choice,
  diskChange,
  fileLength,
  isBrowserKnown,
  isTooSmall,
  listChoices,
  MOST_TO_CHECK,
  MOST_TO_DOWNLOAD,
  propose,
  type Selection,
  type Survey,
  selectWay,
  type Way,
  type WaysBefore,
} from './choices.js';
import { type Environment, explore, newEnvironment } from './environment.js';

/** The free bytes of the private storage. */
let room = 0;
const tried: number[] = [];

/** The result of `targets()` without a size. */
let kinds: { name: string; refusal?: { code: string } }[] = [];

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  targets: async ({ size }: { size?: number } = {}) => {
    if (size === undefined) return kinds;
    tried.push(size);
    if (room < 0) throw new Error('There is no storage');
    return [{ name: 'opfs', fits: size <= room }];
  },
}));

beforeEach(() => {
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('window', { parent: {} });
  tried.length = 0;
  kinds = [];
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const DISK = 10e9;
const DATA = 1e9;
const info = infoOf({ virtualSize: DISK });
const raw = outputOf('raw', '.raw', { outputSize: DISK });
const qcow2 = outputOf('qcow2', '.qcow2', { resumable: false, streamable: false });
const gzip = outputOf('raw.gz', '.raw.gz', { compressed: true, resumable: false });
const rates = { storage: 1e8, picked: 1e8, finish: 1e9, download: 1e9, streamed: 1e8 };
const survey: Survey = { data: DATA, compressed: 0, lost: 0, complete: true, isDue: false };
const all: Environment = {
  rates,
  measured: ['picked', 'stored', 'streamed'],
  isRemote: false,
  fits: true,
  stream: { obstacle: undefined },
  folderObstacle: undefined,
  dialogObstacle: undefined,
  otherTab: false,
  complete: true,
};
const { screen } = screenIn();

const list = (environment: Partial<Environment>, of: Partial<Survey> = {}, output = raw): Choice[] =>
  listChoices({ images: [{ info }], output, survey: { ...survey, ...of } }, { ...all, ...environment }, screen);
const download = (...args: Parameters<typeof list>): Choice => list(...args).at(-1)!;

test('a folder takes the space of the data, a download the space of the disk', () => {
  expect(list({})).toEqual([
    { way: 'folder', method: 'picked', space: DATA, seconds: 20, copying: 0 },
    { way: 'download', method: 'stored', space: DISK, seconds: 20, copying: 10 },
  ]);
});

test('the save dialog is offered only if no folder can be picked', () => {
  const ways = (environment: Partial<Environment>) => list(environment).map(({ way, obstacle }) => [way, obstacle]);
  expect(ways({ folderObstacle: 'none' })).toEqual([
    ['folder', 'none'],
    ['dialog', undefined],
    ['download', undefined],
  ]);
  expect(ways({ folderObstacle: 'none', dialogObstacle: 'none' })).toEqual([
    ['folder', 'none'],
    ['download', undefined],
  ]);
});

test('no cost is shown while nothing is known about the disk', () => {
  expect(list({}, { complete: false })).toEqual([
    { way: 'folder', method: 'picked' },
    { way: 'download', method: 'stored' },
  ]);
});

test('figures from an incomplete map are lower bounds', () => {
  for (const { atLeast, space } of list({}, { complete: false, isDue: true })) {
    expect(atLeast).toBe(true);
    expect(space).toBeGreaterThan(0);
  }
});

test('without rates no time is estimated', () => {
  for (const choice of list({ rates: undefined as never })) expect(choice).not.toHaveProperty('seconds');
});

// (case, environment, survey, output, expected choice)
for (const [what, environment, of, output, expected] of [
  ['a storage with room, whatever is faster', { rates: { ...rates, streamed: 1e12 } }, {}, raw, { method: 'stored' }],
  ['a storage that is not tried yet', { fits: undefined }, {}, raw, { obstacle: english.finding }],
  [
    'a small storage, and a stream that is not tried yet',
    { fits: false, stream: undefined },
    {},
    raw,
    { obstacle: english.finding },
  ],
  ['a small storage', { fits: false, room: 3e9 }, {}, raw, { method: 'streamed', note: english.streamsForRoom(3e9) }],
  [
    'a small storage without a stream',
    { fits: false, room: 3e9, stream: { obstacle: 'No worker.' } },
    {},
    raw,
    { obstacle: english.noRoom(3e9, 'No worker.', true) },
  ],
  [
    'a small storage without a stream or a folder',
    { fits: false, room: 0, stream: { obstacle: 'No worker.' }, folderObstacle: 'none' },
    {},
    raw,
    { obstacle: english.noRoom(0, 'No worker.', false) },
  ],
  [
    'an output that may be small enough',
    { fits: false, room: 3e9, stream: { obstacle: 'No worker.' } },
    {},
    gzip,
    { method: 'stored', note: english.mayNotFit(3e9) },
  ],
] as [string, Partial<Environment>, Partial<Survey>, typeof raw, Partial<Choice>][]) {
  test(`how a disk is downloaded: ${what}`, () => {
    expect(download(environment, of, output)).toMatchObject(expected);
    if (!('obstacle' in expected)) expect(download(environment, of, output).obstacle).toBeUndefined();
  });
}

// (case, room, bytes of data, output, whether it fits)
for (const [what, room, data, output, fits] of [
  ['as much data as room', 1e9, 1e9, gzip, 'unknown'],
  ['twice the room, compressed', 1e9, 2e9, gzip, 'unknown'],
  ['more than twice the room, compressed', 1e9, 2.1e9, gzip, 'unlikely'],
  ['more than the room, not compressed', 1e9, 1.1e9, qcow2, 'unlikely'],
  ['little room', 0, 1e6, gzip, 'unknown'],
  ['little room and much data', 0, 3e6, gzip, 'unlikely'],
  ['an unknown room', undefined, 9e9, gzip, 'unknown'],
] as [string, number | undefined, number, typeof raw, Choice['fit']][]) {
  test(`whether an output of unknown size fits: ${what}`, () => {
    const small = { fits: false, stream: { obstacle: 'no' }, ...(room === undefined ? {} : { room }) };
    expect(download(small, { data }, output).fit).toBe(fits);
  });
}

test('after the storage was full, a download is streamed, or may not fit', () => {
  const stream = { obstacle: 'no' };
  expect(download({ wasFull: true })).toMatchObject({ method: 'streamed' });
  expect(download({ wasFull: true, stream })).toMatchObject({
    method: 'stored',
    fit: 'unlikely',
    note: english.storageWasFull,
  });
  expect(download({ wasFull: true, fits: false, stream }, {}, gzip)).toMatchObject({
    method: 'stored',
    fit: 'unlikely',
  });
});

test('without https nothing can be downloaded', () => {
  vi.stubGlobal('isSecureContext', false);
  expect(download({}).obstacle).toBe(english.insecure);
  expect(newEnvironment(screen, false)).toMatchObject({
    folderObstacle: english.insecure,
    dialogObstacle: english.insecure,
  });
});

test('a picker that the browser does not have is an obstacle', () => {
  vi.stubGlobal('showSaveFilePicker', () => {});
  expect(newEnvironment(screen, false)).toMatchObject({ folderObstacle: english.noPicker, dialogObstacle: undefined });
});

const TIB = 2 ** 40;
/** Figures of a browser, in which nothing may change a proposal. */
const NOISE = [
  {},
  { rates: undefined as never, measured: [] },
  { rates: { storage: 1e7, picked: 1e10, finish: 1e10, download: 1e7, streamed: 1e7 } },
  { rates: { storage: 1e10, picked: 1e7, finish: 1e7, download: 1e10, streamed: 1e10 }, measured: [] },
] satisfies Partial<Environment>[];
const noFolder = { folderObstacle: 'no folder' };
const small = { fits: false, room: 3e9 };
const noStream = { stream: { obstacle: 'no stream' } };
const unsized = { virtualSize: 9e12, fileSize: 9e9 };

// (case, disk, output, environment, ways before, proposed way, reason)
for (const [what, disk, output, environment, before, way, reason] of [
  ['a small disk', 1e6, raw, {}, {}, 'download', undefined],
  ['the largest download', MOST_TO_DOWNLOAD, raw, {}, {}, 'download', undefined],
  ['a larger one', MOST_TO_DOWNLOAD + 1, raw, {}, {}, 'folder', english.folderAbove(MOST_TO_DOWNLOAD)],
  ['a larger one without a folder', 1e11, raw, noFolder, {}, 'dialog', english.folderAbove(MOST_TO_DOWNLOAD)],
  ['only a download', 1e11, raw, { ...noFolder, dialogObstacle: 'no dialog' }, {}, 'download', undefined],
  ['no download', 1e9, raw, { downloadObstacle: 'no frame' }, {}, 'folder', 'no frame'],
  ['a small storage, and a stream', 1e10, raw, small, {}, 'download', undefined],
  ['a small storage alone', 1e10, raw, { ...small, ...noStream }, {}, 'folder', english.noRoom(3e9, 'no stream', true)],
  ['a result that does not fit', 1e10, qcow2, { fits: false, room: 0.5e9 }, {}, 'folder', english.mayNotFit(0.5e9)],
  ['a full storage', 1e10, raw, { wasFull: true, ...noStream }, {}, 'folder', english.storageWasFull],
  ['the largest quick check', MOST_TO_CHECK, raw, {}, {}, 'folder', english.folderAbove(MOST_TO_DOWNLOAD)],
  ['a long check, and room', MOST_TO_CHECK + 1, raw, {}, {}, 'download', english.longCheck(MOST_TO_CHECK + 1)],
  ['a long check, and no room', 8 * TIB, raw, small, {}, undefined, english.longCheck(8 * TIB)],
  [
    'a long stream alone',
    8 * TIB,
    raw,
    { ...small, ...noFolder, dialogObstacle: 'no dialog' },
    {},
    'download',
    undefined,
  ],
  ['a large disk, a small result', unsized, qcow2, { ...small, room: 2e9 }, {}, 'download', undefined],
  ['a large image', 9e10, qcow2, {}, {}, 'folder', english.folderAbove(MOST_TO_DOWNLOAD)],
  ['a folder was chosen', 1e6, raw, {}, { chosen: 'folder' }, 'folder', english.asBefore],
  ['a download was chosen', 1e11, raw, {}, { chosen: 'download' }, 'download', english.asBefore],
  ['the usual way was chosen', 1e6, raw, {}, { chosen: 'download' }, 'download', undefined],
  ['a folder was chosen, and is impossible', 1e6, raw, noFolder, { chosen: 'folder' }, 'download', undefined],
  ['a folder was chosen, and takes hours', TIB, raw, {}, { chosen: 'folder' }, 'download', english.longCheck(TIB)],
  ['something unknown was chosen', 1e6, raw, {}, { chosen: 'pigeon' as Way }, 'download', undefined],
  ['the queue has a folder', 1e6, raw, {}, { queue: 'folder', chosen: 'download' }, 'folder', english.asInQueue],
  ['the queue has a download', 1e11, raw, {}, { queue: 'download' }, 'download', english.asInQueue],
] as [
  string,
  number | { virtualSize: number; fileSize: number },
  typeof raw,
  Partial<Environment>,
  Partial<WaysBefore>,
  Way | undefined,
  string | undefined,
][]) {
  test(`the proposed way: ${what}`, () => {
    const info = infoOf(typeof disk === 'number' ? { virtualSize: disk, fileSize: disk } : disk);
    const sized = output === raw ? { ...raw, outputSize: info.virtualSize } : output;
    for (const noise of NOISE) {
      for (const isDue of [false, true]) {
        const all_ = { ...all, ...environment, ...noise };
        const of = { ...survey, complete: !isDue, isDue };
        const choices = listChoices({ images: [{ info }], output: sized, survey: of }, all_, screen);
        const ways = { queue: undefined, chosen: undefined, ...before };
        expect(propose(choices, fileLength([{ info }], sized), ways, all_, english)).toEqual(
          reason === undefined ? { way } : { way, reason },
        );
      }
    }
  });
}

test.each([
  // (size of the output, size of the file of the image, size that the person chooses, expected)
  [DISK + 512, 1e9, undefined, DISK + 512],
  [DISK + 512, 1e9, 2 * DISK, 2 * DISK + 512],
  [undefined, 1e9, undefined, 1e9],
  [undefined, undefined, undefined, DISK],
])('the length of a file: output of %s, image of %s, disk of %s', (size, fileSize, chosen, expected) => {
  const { fileSize: _, ...bare } = info;
  const one = { info: { ...bare, ...(fileSize === undefined ? {} : { fileSize }) } };
  const output = { ...qcow2, ...(size === undefined ? {} : { outputSize: size }) };
  expect(fileLength([one], output, chosen)).toBe(expected);
});

test('the limits are those in docs/page.md', () => {
  const page = readFileSync('docs/page.md', 'utf8');
  expect(page).toContain(`${MOST_TO_DOWNLOAD / 1e9} GB (\`MOST_TO_DOWNLOAD\`)`);
  expect(page).toContain(`${MOST_TO_CHECK / 1e9} GB (\`MOST_TO_CHECK\`)`);
});

test('a disk that is made larger takes hours, too', () => {
  const saving = { images: [{ info }], output: raw, survey };
  const takesHours = (size?: number) =>
    listChoices({ ...saving, size }, all, screen).map((choice) => choice.takesHours);
  expect(takesHours()).toEqual([undefined, undefined]);
  expect(takesHours(8 * TIB)).toEqual([true, undefined]);
});

const nothing: Selection = {
  way: undefined,
  reason: undefined,
  lostWay: undefined,
  isChosen: false,
  isHeld: false,
  isSettled: false,
};
const [ofFolder, ofDownload]: Choice[] = [
  { way: 'folder', method: 'picked' },
  { way: 'download', method: 'stored' },
];
const folder: Partial<Selection> = { way: 'folder', reason: 'why' };
const proposed = { way: 'download', reason: undefined };

// (case, choices, selection, whether the browser is known, expected)
for (const [what, choices, selection, isKnown, expected] of [
  ['nothing before the browser is known', [ofFolder, ofDownload], {}, false, { way: undefined, isSettled: false }],
  ['a proposal then', [ofFolder, ofDownload], {}, true, proposed],
  ['a proposal that is corrected', [ofFolder, ofDownload], folder, true, proposed],
  ['a proposal that is held', [ofFolder, ofDownload], { ...folder, isHeld: true }, true, folder],
  ['a way that is chosen', [ofFolder, ofDownload], { way: 'folder', isChosen: true }, true, { way: 'folder' }],
  [
    'a chosen way that has become impossible',
    [{ ...ofFolder!, obstacle: 'no' }, ofDownload],
    { way: 'folder', isChosen: true },
    true,
    { way: undefined, lostWay: 'folder' },
  ],
  [
    'a chosen way that is possible again',
    [ofFolder, ofDownload],
    { lostWay: 'folder', isChosen: true },
    true,
    { way: 'folder', lostWay: undefined },
  ],
] as [string, Choice[], Partial<Selection>, boolean, Partial<Selection>][]) {
  test(`the selected way: ${what}`, () => {
    expect(selectWay(choices, { ...nothing, ...selection }, true, isKnown, () => ({ way: 'download' }))).toEqual({
      way: undefined,
      reason: undefined,
      lostWay: undefined,
      isSettled: true,
      ...expected,
    });
  });
}

/** Explores the browser for a disk of `DISK` bytes. */
async function explored(isKept = false, turn = new AbortController().signal): Promise<Environment> {
  const streamedDownloads = { obstacle: async () => 'no worker', open: () => Promise.reject(new Error('no')) };
  const { screen } = screenIn({ streamedDownloads });
  const environment = newEnvironment(screen, false);
  await explore(
    environment,
    DISK,
    async () => isKept,
    screen,
    turn,
    () => {},
  );
  return environment;
}

test('a storage with enough room is tried once', async () => {
  room = DISK;
  expect(await explored()).toMatchObject({ fits: true, stream: { obstacle: 'no worker' }, complete: true });
  expect(tried).toEqual([DISK]);
});

for (const free of [9e9, 7e9, 3e9, 1e9, 1e8, 64e6, 10e6, 1.5e6]) {
  test(`a room of ${free} bytes is found by descending sizes, within a quarter`, async () => {
    room = free;
    const found = await explored();
    expect(found).toMatchObject({ fits: false, complete: true });
    expect(found.room).toBeLessThanOrEqual(free);
    expect(found.room).toBeGreaterThanOrEqual(free / 1.25);
    expect(tried).toEqual(tried.toSorted((a, b) => b - a));
  });
}

test('a storage with less than 1 MB of room, or that fails, has no room', async () => {
  for (const found of [0.9e6, -1]) {
    room = found;
    expect(await explored()).toMatchObject({ fits: false, room: 0 });
    expect(Math.min(...tried)).toBeGreaterThan(1e6);
  }
});

test('frames around the page are obstacles', async () => {
  room = DISK;
  vi.stubGlobal('showDirectoryPicker', () => {});
  kinds = [
    { name: 'folder', refusal: { code: 'foreign-frame' } },
    { name: 'download', refusal: { code: 'sandboxed-downloads' } },
  ];
  const environment = await explored();
  expect(environment).toMatchObject({
    folderObstacle: english.foreignPicker,
    dialogObstacle: english.foreignPicker,
    downloadObstacle: english.frameDownload['sandboxed-downloads'],
  });
  expect(download(environment)).toMatchObject({ obstacle: english.frameDownload['sandboxed-downloads'] });
  // The element finds other obstacles itself.
  kinds = [
    { name: 'folder', refusal: { code: 'no-picker' } },
    { name: 'download', refusal: { code: 'refused-storage' } },
  ];
  const other = await explored();
  expect(other.folderObstacle).toBeUndefined();
  expect(other.downloadObstacle).toBeUndefined();
});

test('the storage has room for a partly downloaded disk', async () => {
  room = 0;
  expect(await explored(true)).toMatchObject({ fits: true, complete: true });
});

test.each([
  // (environment, output, whether enough is known)
  [{ complete: false }, raw, false],
  [{ fits: false }, raw, true],
  [{ fits: true }, qcow2, true],
  [{ fits: false }, qcow2, false],
  [{ fits: false, room: 0 }, qcow2, true],
])('whether a way can be proposed in %j for %j', (environment, output, expected) => {
  expect(isBrowserKnown({ ...all, ...environment }, output)).toBe(expected);
});

test('nothing more is tried after the turn is over', async () => {
  room = 0;
  await explored(false, AbortSignal.abort());
  expect(tried).toEqual([DISK]);
});

test('if the page saves disks itself, the browser is not explored', async () => {
  const { screen } = screenIn({ output: () => new WritableStream() });
  const environment = newEnvironment(screen, false);
  expect(environment.complete).toBe(true);
  await explore(
    environment,
    DISK,
    async () => true,
    screen,
    new AbortController().signal,
    () => {},
  );
  expect(tried).toEqual([]);
  expect(listChoices({ images: [{ info }], output: raw, survey }, environment, screen)).toEqual([
    { way: 'host', method: 'host' },
  ]);
});

test('an estimated speed is marked, and that of a network is not shown', () => {
  for (const choice of list({ measured: [] })) expect(choice.isGuess).toBe(true);
  for (const choice of list({ isRemote: true })) expect(choice).not.toHaveProperty('seconds');
});

const withTable = (kind: string): Survey => ({ ...survey, contents: { table: { kind }, partitions: [] } as never });

// (what, the size that the person has chosen, what is known, the change)
test.each([
  ['no size', undefined, withTable('GPT'), {}],
  ['a GPT', 2 * DISK, withTable('GPT'), { size: 2 * DISK, fixGpt: true }],
  ['an MBR', 2 * DISK, withTable('MBR'), { size: 2 * DISK }],
  ['unknown contents', 2 * DISK, survey, { size: 2 * DISK, fixGpt: true }],
])('the change of a disk: %s', (_, size, survey, change) => {
  expect(diskChange({ size, survey })).toEqual(change);
});

test.each([
  [undefined, DISK, false],
  [DISK - 1, DISK, true],
  [DISK, DISK, false],
  [0, undefined, true],
  [1, undefined, false],
])('whether the size %s is too small for a disk of %s bytes: %s', (size, virtualSize, expected) => {
  expect(isTooSmall({ size, image: { info: { ...info, virtualSize } as typeof info } })).toBe(expected);
});
