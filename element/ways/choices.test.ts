// The ways to save a disk, their costs, and the proposed and the advised one.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { infoOf } from '../../worker/api/info.test-support.js';
import { outputOf, screenIn } from '../element.test-support.js';
import { english } from '../texts/english.js';
import { advice, bestChoice, type Choice, diskChange, isTooSmall, listChoices, type Survey } from './choices.js';
import { type Environment, explore, newEnvironment } from './environment.js';

/** The free bytes of the private storage. */
let room = 0;
const tried: number[] = [];

/** The result of `targets()`. */
let kinds: { name: string; code?: string }[] = [];

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  targets: async () => kinds,
  canStore: async (size: number) => {
    tried.push(size);
    if (room < 0) throw new Error('There is no storage');
    return size <= room;
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
const raw = outputOf('raw', '.raw', { size: DISK });
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
  listChoices([{ info }], output, { ...survey, ...of }, { ...all, ...environment }, screen);
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
  ['a stream that is faster', { rates: { ...rates, streamed: 1e9 } }, {}, raw, { method: 'streamed' }],
  ['a copy that is faster', { rates: { ...rates, download: 1e12 } }, {}, raw, { method: 'stored' }],
  ['no stream', { rates: { ...rates, streamed: 1e9 }, stream: { obstacle: 'no' } }, {}, raw, { method: 'stored' }],
  ['unknown rates', { rates: undefined }, {}, raw, { method: 'stored' }],
  ['an incomplete map', { rates: { ...rates, streamed: 1e9 } }, { complete: false }, raw, { method: 'stored' }],
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
  expect(download({ wasFull: true, stream })).toMatchObject({ method: 'stored', fit: 'unlikely' });
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

const choice = (
  way: Choice['way'],
  seconds: number | undefined,
  space: number,
  more: Partial<Choice> = {},
): Choice => ({
  way,
  method: way === 'folder' ? 'picked' : 'stored',
  ...(seconds === undefined ? {} : { seconds }),
  space,
  ...more,
});

test('the cheapest possible way is proposed: 100 MB cost as much as a second', () => {
  const [folder, stored] = [choice('folder', 10, 1e9), choice('download', 12, 0.9e9)];
  expect(bestChoice([folder, stored])).toBe(folder);
  expect(bestChoice([choice('folder', 10, 1.4e9), stored])).toBe(stored);
  expect(bestChoice([{ ...folder, obstacle: 'no' }, stored])).toBe(stored);
  expect(bestChoice([{ ...folder, obstacle: 'no' }])).toBeUndefined();
  expect(bestChoice([{ ...folder, fit: 'unlikely' }, stored])).toBe(stored);
  expect(
    bestChoice([
      { ...folder, obstacle: 'no' },
      { ...stored, fit: 'unlikely' },
    ]),
  ).toMatchObject(stored);
});

// (case, choices, advice)
for (const [what, choices, reason] of [
  ['far less space', [choice('folder', 10, 0), choice('download', 10, 5e9)], english.betterSpace(0, 5e9)],
  ['far less time', [choice('folder', 300, 0), choice('download', 10, 1e9)], english.betterTime(290)],
  ['not clearly better', [choice('folder', 80, 0), choice('download', 100, 0)], undefined],
  ['clearly better', [choice('folder', 69, 0), choice('download', 100, 0)], english.betterTime(31)],
  ['a few seconds', [choice('folder', 0.1, 0), choice('download', 5, 0)], undefined],
  ['five seconds', [choice('folder', 0, 0), choice('download', 5, 0)], english.betterTime(5)],
  ['an unknown time', [choice('folder', undefined, 0), choice('download', 10, 5e9)], undefined],
  ['a lower bound', [choice('folder', 10, 0, { atLeast: true }), choice('download', 10, 5e9)], undefined],
  ['only one possible way', [choice('folder', 10, 0), choice('download', 10, 5e9, { obstacle: 'no' })], undefined],
] as [string, Choice[], string | undefined][]) {
  test(`advice: ${what}`, () => expect(advice(choices, english)?.reason).toBe(reason));
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
    { name: 'folder', code: 'foreign-frame' },
    { name: 'download', code: 'sandboxed-downloads' },
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
    { name: 'folder', code: 'no-picker' },
    { name: 'download', code: 'refused-storage' },
  ];
  const other = await explored();
  expect(other.folderObstacle).toBeUndefined();
  expect(other.downloadObstacle).toBeUndefined();
});

test('the storage has room for a partly downloaded disk', async () => {
  room = 0;
  expect(await explored(true)).toMatchObject({ fits: true, complete: true });
  expect(tried).toEqual([DISK]);
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
  expect(listChoices([{ info }], raw, survey, environment, screen)).toEqual([{ way: 'host', method: 'host' }]);
});

test('an estimated speed gives no advice, and the speed of a network is not shown', () => {
  const slow = { rates: { ...rates, download: 1e7 }, stream: { obstacle: 'no' } };
  expect(advice(list(slow), english)).toMatchObject({ way: 'folder' });
  for (const choice of list({ measured: [] })) expect(choice.isGuess).toBe(true);
  const data = { data: DISK };
  expect(advice(list(slow, data), english)?.reason).toBe(english.betterTime(990));
  expect(advice(list({ ...slow, measured: ['picked'] }, data), english)).toBeUndefined();
  for (const choice of list({ isRemote: true })) expect(choice).not.toHaveProperty('seconds');
});

const withTable = (kind: string): Survey => ({ ...survey, contents: { table: { kind }, parts: [] } as never });

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
