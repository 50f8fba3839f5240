// The texts in all languages: each has the same texts, and all names are shown escaped.

import type { ConvertResult, Info, OutputFormat, Snapshot } from 'decant';
import { expect, test } from 'vitest';
import { infoOf } from '../../worker/api/info.test-support.js';
import { fileHandle, fileOf, folderHandle, outputOf, textsIn } from '../element.test-support.js';
import type { Target } from '../steps/state.js';
import type { AllTexts, MissingFile } from '../types.texts.js';
import type { Choice } from '../ways/choices.js';
import { english } from './english/index.js';
import { german } from './german/index.js';
import { languages, textsIn as textsOf } from './languages.js';
import { partsOf } from './wording.js';

const all = await Promise.all(
  languages.map(async (language): Promise<[string, AllTexts]> => [language, await textsOf(language)]),
);

/** Characters that no text may contain, even if a name contains them: see `worker/errors/shown.ts`. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{DI}\p{Cs}\ufff9-\ufffb]/u;
const NASTY = '\u001b[31m\u009b2J\nb= \u202e\u2066\u200b';
const NAMES = [NASTY, 'x'.repeat(60_000)];

const needOf = (name: string): MissingFile => ({
  kind: 'missing-file',
  role: 'backing file',
  name,
  fileName: name,
  of: name,
});
const placesOf = (name: string): Target[] => [
  { kind: 'folder', folder: folderHandle(name, {}), name, replaces: undefined },
  { kind: 'dialog', handle: fileHandle(fileOf(name)), name },
  { kind: 'stored', name, kept: undefined },
  { kind: 'streamed', name },
  { kind: 'host', name },
];
const choice: Choice = { way: 'download', method: 'stored', seconds: 90, space: 5e6 };
const costs: Choice[] = [
  choice,
  { ...choice, atLeast: true },
  ...[30, 300, 3000, 30_000, 3e6].map((seconds): Choice => ({ ...choice, seconds, isGuess: true })),
  { way: 'folder', method: 'picked' },
  { way: 'folder', method: 'picked', space: 5e6 },
  { way: 'folder', method: 'picked', space: 5e6, takesHours: true },
];
const result = { bytesWritten: 5e6, holeBytes: 1e6, outputSize: 6e6, engine: 'workers', workers: 2 } as ConvertResult;
const infos: Info[] = [infoOf(), infoOf({ version: 3, clusterSize: 65_536, containers: [{ name: 'gzip' }] })];
const snapshot = (name: string) => ({ id: name, name, date: 1e9 }) as Snapshot;
const formats: OutputFormat[] = [outputOf('raw', '.raw'), outputOf('vpc', '.vhd', { hint: 'For Azure' })];
const names = (name: string) => [[name], Array(5).fill(name), Array(6).fill(name)];
const each = <T>(values: T[]): [T][] => values.map((value) => [value]);

/** Values for each text that takes some, with `name` for all names. */
const valuesWith = (name: string): Record<string, unknown[][]> => {
  const named = [[name]];
  const two = [[name, name]];
  const needs = [[needOf(name)]];
  const role = [[name, 'backing file']];
  const bytes = each([0, 1, 5e6]);
  return {
    size: bytes,
    takes: each([['qcow2', 'raw']]),
    makes: each([['raw', 'VHD']]),
    addressFor: needs,
    dropToAnswer: named,
    opening: named,
    interrupted: [
      [name, 5e6, 0.4, undefined],
      [name, 5e6, undefined, ''],
      [name, 5e6, 0.4, name],
    ],
    notResumed: [[name]],
    storageFreed: bytes,
    fileInterrupted: each([undefined, name]).map(([folder]) => [name, name, folder]),
    downloadLost: two,
    removeFile: named,
    fileRemoved: named,
    fileStays: named,
    fileNotRemoved: named,
    tooMany: [[200]],
    notFetched: named,
    noImages: each(names(name)),
    aside: each(names(name)),
    held: each(names(name)),
    convertAll: [[5]],
    convertDisks: [[2]],
    joinDisks: [[2]],
    joined: [[2]],
    withoutDisks: each(names(name)),
    allDone: [[4, 5]],
    notAll: each(names(name)),
    someDamaged: each(names(name)),
    'queued.added': each(names(name)),
    'queued.claimed': each(names(name)),
    'queued.removed': named,
    'queued.saved': placesOf(name).map((place) => [place, 5e6]),
    encryptionValue: each([{ format: 'aes' }, { format: 'luks', luks: { version: 2, cipher: name } }]),
    snapshotValue: each([snapshot(name), { ...snapshot(name), name: '' }]),
    unused: each(names(name)),
    formatValue: each(infos),
    fileSizeValue: [
      [512, 1],
      [5e6, 3],
    ],
    dataCounting: bytes,
    dataValue: [
      [5e6, 0],
      [5e6, 1e6],
      [5e6, 5e6],
    ],
    'picture.label': each([undefined, 0.5]),
    'picture.layer': named,
    'picture.cell': [
      [0, 'empty', undefined, undefined],
      [5e6, 'compressed', { length: 5e6, name }, name],
      [5e6, 'unknown', undefined, name],
    ],
    'contents.title': [
      [undefined, 1],
      [{ kind: 'GPT' }, 1],
      [{ kind: 'MBR' }, 2],
    ],
    'contents.part': each([
      { length: 5e6 },
      { length: 5e6, name, type: 'Linux' },
      { length: 5e6, name, type: 'Linux', fileSystem: { name: 'ext4', label: name } },
    ]),
    'contents.more': each([1, 2]),
    'contents.firmware': each([['efi'], ['efi', 'bios']]),
    disksTitle: [
      [name, 1],
      [name, 2],
    ],
    noDiskTitle: named,
    disksMissing: each([1, 2]),
    diskSize: each([5e6]),
    largeTitle: named,
    large: bytes,
    packedTitle: named,
    packed: [
      [name, undefined],
      [name, 3e9],
    ],
    unpacking: named,
    needsFile: needs,
    needsDisk: needs,
    diskId: named,
    needsTitle: needs,
    needsDiskTitle: needs,
    needsPassword: named,
    chooseFor: needs,
    chooseOther: needs,
    notTheFile: each(names(name)),
    notTheDisk: each(names(name)),
    useAllTheSame: role,
    useAsDisk: [[name, name]],
    doubt: role,
    otherName: two,
    probablyTheImage: named,
    smallerLayer: [[name, 3e6, name, 5e6]],
    shortDataFile: [[name, 3e6, 5e6]],
    notRaw: [[name, 'qcow2', name]],
    noDisk: named,
    guessedRaw: named,
    passwordOf: named,
    unlocking: named,
    salvaging: bytes,
    lost: [
      [512, 1],
      [5e6, 2],
    ],
    lostMore: each([1, 2]),
    lostRange: each(
      ['grain-cut', 'of-tomorrow'].flatMap((code) => {
        const range = { offset: 512, length: 512, code, message: 'the file ends' };
        return [range, { ...range, disk: 2 }];
      }),
    ),
    outputHint: each(formats.filter(({ hint }) => hint)),
    outputValue: each(formats),
    notice: [
      [{ code: 'disk-grows', fields: { added: 1e6, unit: 2 ** 30 }, message: 'The disk grows' }],
      [{ code: 'disk-grows', fields: { added: 1e6, unit: 2 ** 30, disk: name }, message: 'The disk grows' }],
      [{ code: 'trailer', fields: { size: 512 }, message: 'There is more' }],
    ],
    outputRefusal: formats.map((output) => [
      output,
      { kind: 'limit', code: 'vhd-too-large', fields: { size: 5e12 }, message: 'The disk is too large' },
    ]),
    toFolder: named,
    placeLabel: each([
      { name: 'raw', label: 'a raw disk' },
      { name: 'mine', label: name },
    ]),
    forPlace: [
      [{ name: 'raw', label: 'a raw disk' }, 'Raw disk'],
      [{ name: 'mine', label: name }, 'qcow2'],
    ],
    space: each(costs.slice(0, 2)),
    about: each(costs.slice(0, 2)),
    fits: two,
    fromStep: [['SAS_URL', 2]],
    nextStep: [
      ['KVM', 'sh'],
      ['Hyper-V', 'powershell'],
    ],
    badName: [['/']],
    longName: [[304, 248]],
    otherExtension: [['.raw', '.vhd']],
    changedName: named,
    diskSizeValue: bytes,
    pickedCost: costs.map((cost) => [cost, 22e12]),
    downloadCost: costs.map((cost) => [cost, 5e6]),
    folderChosen: named,
    folderAbove: [[3e10]],
    longCheckTitle: each([1.5e11, 9e12, 9e15]),
    longCheckHint: each([1.5e11, 9e12]),
    quickFormat: [undefined, 5, 300].map((seconds) => [outputOf('qcow2', '.qcow2'), seconds]),
    quickFormatHint: [
      [undefined, 9e12],
      [8e6, 9e12],
    ],
    useFormat: [[outputOf('qcow2', '.qcow2')]],
    mayClose: named,
    quitToStop: [
      [name, false],
      [name, true],
    ],
    longCheck: each([1.5e11, 9e12]),
    streamsForRoom: each([undefined, 0, 5e6]),
    noRoom: [
      [5e6, 'This browser is old.', true],
      [undefined, 'This browser is old.', false],
    ],
    mayNotFit: each([undefined, 0, 5e6]),
    noStream: [['it was refused']],
    replaceTitle: two,
    replaceQuestion: each([0, 5e6]).map(([bytes]) => [bytes, new Date(1e12)]),
    sourceTitle: named,
    saveAs: named,
    goOnTitle: [[0.5]],
    working: [['Converting', name]],
    share: [[0.5]],
    compared: [[50]],
    converted: [[50]],
    speed: [
      [5e6, 'picked'],
      [5e6, 'streamed'],
    ],
    left: [[90]],
    checking: [
      [90, 7200],
      [90, undefined],
    ],
    silent: [[90]],
    stalled: [[90]],
    waiting: each([
      { host: name, attempt: 0 },
      { host: name, attempt: 0, completing: true },
      { host: name, attempt: 1 },
      { host: name, attempt: 3, status: 503 },
      { host: name, attempt: 3, offline: true },
    ]),
    waitingShort: each([
      { host: name, attempt: 0 },
      { host: name, attempt: 0, offline: true },
    ]),
    madeIn: each(placesOf(name)),
    place: placesOf(name).flatMap((target) => [
      [target, undefined],
      [target, 1],
      [target, 90],
    ]),
    copied: named,
    copyKept: bytes.map(([size]) => [size!, 120]),
    writtenValue: ['picked', 'stored', 'streamed', 'host'].map((method) => [result, method]),
    timeValue: each([0.5, 90]),
    convertingValue: [
      [90, undefined, 'stored'],
      [90, 5e6, 'streamed'],
    ],
    engineValue: each([result, { ...result, workers: 1 }, { ...result, engine: 'threads' }]),
    failure: [
      [{ kind: 'corrupt', code: 'corrupt', fields: { file: name }, message: 'It is damaged' }],
      [
        {
          kind: 'missing-file',
          code: 'missing-file',
          fields: { file: name, neededBy: name },
          message: 'It needs a file',
        },
      ],
    ],
    isRaw: named,
    notOpened: named,
    notConverted: named,
    stillStored: bytes,
    streamLeft: named,
    asItWas: named,
    emptyLeft: named,
    fileLeft: named,
    fileInFolderLeft: [[name, name, name]],
    folderMoved: each([false, true]).map(([replaces]) => [name, name, name, replaces]),
    fileMoved: two,
    unknownLeft: named,
  };
};

type Text = string | string[] | ((...values: unknown[]) => string);
const kindOf = (text: unknown) => (Array.isArray(text) ? `${text.length} lines` : typeof text);
const kinds = (texts: AllTexts) => Object.fromEntries([...textsIn(texts)].map(([path, text]) => [path, kindOf(text)]));

test('each language has the same texts', () => {
  const [first, ...others] = all.map(([, texts]) => kinds(texts));
  for (const other of others) expect(other).toEqual(first);
});

test('each text that takes values is tested', () => {
  const takers = [...textsIn(english)].filter(([, text]) => typeof text === 'function').map(([path]) => path);
  expect(Object.keys(valuesWith('disk')).toSorted()).toEqual(takers.toSorted());
});

/** All texts; those that take values are called with `name`. */
function* shown(texts: AllTexts, name: string): Generator<[path: string, text: string]> {
  const values = valuesWith(name);
  for (const [path, text] of textsIn(texts) as Generator<[string, Text]>) {
    if (typeof text === 'function') for (const taken of values[path]!) yield [path, text(...taken)];
    else for (const line of [text].flat()) yield [path, line];
  }
}

for (const [language, texts] of all) {
  test(`${language}: no text is empty or has a missing value`, () => {
    for (const [path, text] of shown(texts, 'disk')) {
      expect(text.trim(), path).not.toBe('');
      expect(text, path).not.toMatch(/undefined|null|NaN|\[object|\$\{|function/);
    }
  });

  test(`${language}: names are shown escaped and cut`, () => {
    for (const name of NAMES) {
      for (const [path, text] of shown(texts, name)) {
        // The marks around a part in English are hidden characters too.
        expect(HIDDEN.exec(partsOf(text).join('')), `${path}: ${text.slice(0, 300)}`).toBe(null);
        expect(text.length, `${path}: ${text.slice(0, 300)}`).toBeLessThanOrEqual(1200);
      }
    }
  });
}

test('German is not English', () => {
  const other = new Map(textsIn(german));
  const same = [...textsIn(english)].filter(([path, text]) => typeof text === 'string' && other.get(path) === text);
  expect(same.map(([path]) => path)).toEqual(['title', 'format', 'facts.threads']);
});

// (text, values, result)
for (const [path, values, text] of [
  ['aside', [['a.txt']], 'Skipped, not a disk image: a.txt.'],
  ['aside', [['a', 'b', 'c', 'd', 'e', 'f']], 'Skipped, not a disk image: a, b, c, d and 2 more.'],
  ['queued.added', [['a']], 'Added to the queue: a.'],
  ['queued.added', [['a', 'b']], 'Added to the queue: a, b.'],
  ['formatValue', [infos[1]], 'qcow2, version 3, units of 65,536\u00a0bytes, in gzip'],
  ['dataValue', [100e6, 0], '100\u00a0MB'],
  ['dataValue', [100e6, 95e6], '100\u00a0MB, 95\u00a0MB of it compressed'],
  ['dataValue', [100e6, 96e6], '100\u00a0MB, nearly all of it compressed'],
  ['timeValue', [0.99], 'less than a second'],
  ['timeValue', [1], '1\u00a0s'],
  ['goOnTitle', [0.999], '99% of this disk is already converted'],
  ['share', [0.999], '99%'],
  ['engineValue', [{ ...result, workers: 1 }], 'one worker'],
  ['pickedCost', [{ ...choice, isGuess: true }, 9e6], 'Takes 5\u00a0MB, the size of its data. Probably a few minutes.'],
  ['pickedCost', [{ ...choice, isGuess: true, atLeast: true }, 9e6], 'Takes at least 5\u00a0MB, the size of its data.'],
  [
    'pickedCost',
    [{ ...choice, seconds: 4e6, isGuess: true, atLeast: true }, 22e12],
    'Takes at least 5\u00a0MB, the size of its data.',
  ],
  ['pickedCost', [{ ...choice, space: 0, isGuess: true, atLeast: true }, 9e6], 'Only data takes space.'],
  ['longCheckTitle', [1e6], 'At the end, the browser checks the file for under a minute'],
  ['pickedCost', [{ ...choice, space: 0 }, 9e6], 'Takes almost no space. About 1\u00a0min 30\u00a0s.'],
  [
    'pickedCost',
    [{ ...choice, takesHours: true }, 22e12],
    'Takes 5\u00a0MB, the size of its data. At the end, the browser checks all 22\u00a0TB: 1 to 4\u00a0days.',
  ],
  [
    'longCheck',
    [150e9],
    'In a folder, the browser would check all 150\u00a0GB at the end, empty parts included: 7 to 34\u00a0minutes.',
  ],
  ['space', [{ ...choice, space: 0 }], ''],
  ['about', [{ ...choice, space: 0 }], 'about 1\u00a0min 30\u00a0s'],
  [
    'notice',
    [{ code: 'huge', fields: { size: 22e12 }, message: '' }],
    'The disk has 22\u00a0TB, far more than its file.',
  ],
  [
    'pickedCost',
    [{ ...choice, isGuess: true, seconds: 4e6 }, 9e6],
    'Takes 5\u00a0MB, the size of its data. Probably over a day.',
  ],
  [
    'notice',
    [{ code: 'disk-grows', fields: { added: 654311424, unit: 2 ** 30 }, message: '' }],
    '654\u00a0MB of zeros are added at the end, to a multiple of 1,073,741,824\u00a0bytes.',
  ],
  ['writtenValue', [{ ...result, holeBytes: 0 }, 'picked'], '6\u00a0MB'],
  [
    'mayNotFit',
    [10e6],
    'This window can store about 10\u00a0MB, which is less than the disk. Whether the result fits is known at the end.',
  ],
  [
    'mayNotFit',
    [0],
    'This window can store less than 1\u00a0MB, which is less than the disk. Whether the result fits is known at the end.',
  ],
  ['contents.title', [{ kind: 'GPT' }, 2], 'On this disk: 2 partitions (GPT)'],
] as [string, unknown[], string][]) {
  test(`English: ${path} of ${JSON.stringify(values).slice(0, 60)}`, () => {
    const take = new Map(textsIn(english)).get(path) as (...values: unknown[]) => string;
    expect(take(...values)).toBe(text);
  });
}

test.each(['backing file', 'data file', 'extent', 'parent'] as const)('German: the link to a file for %s', (role) => {
  expect(german.addressFor({ ...needOf('a'), role })).toMatch(/^Link zur \w+datei$/);
});

test('German: percentages have a no-break space', () => {
  expect(german.share(0.999)).toBe('99\u00a0%');
  expect(german.goOnTitle(0.5)).toMatch(/^50\u00a0% /);
});
