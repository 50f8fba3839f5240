// The text for screen readers and the title of the window, for each step.

import type { ConvertResult } from 'decant';
import { expect, test } from 'vitest';
import { fileHandle, fileOf, folderHandle, imageOf } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import { announcement, canLeaveToBrowser, finishingHint, numbersOf, windowTitle } from './announcement.js';
import type { State, Step, Target } from './state.js';

const folder = folderHandle('picked', {});
const target = (kind: Target['kind'], replaces?: File): Target =>
  ({ kind, name: 'disk.raw', folder, replaces, handle: fileHandle(fileOf('disk.raw')), kept: undefined }) as Target;

const converting = (more: Partial<Step<'converting'>>): State => ({
  step: 'converting',
  name: 'disk.qcow2',
  target: target('stored'),
  destination: undefined,
  contents: undefined,
  phase: 'converting',
  share: 0.258,
  secondsLeft: 9,
  speed: 1e8,
  picture: undefined,
  silence: 0,
  stalled: 0,
  finishing: undefined,
  waiting: undefined,
  takesHours: false,
  cancelling: false,
  ...more,
});

const done = (kind: Target['kind'], lostBytes = 0): State => ({
  step: 'done',
  name: 'disk.qcow2',
  target: target(kind),
  destination: undefined,
  contents: undefined,
  made: [],
  result: { lostBytes } as ConvertResult,
  picture: undefined,
  seconds: 1,
  converting: 1,
  speed: 1e8,
  copying: 3,
  isCopyGone: false,
  tooLate: false,
});

const verified = (kind: Target['kind']): State => {
  const state = done(kind) as Step<'done'>;
  return { ...state, result: { ...state.result, verified: { guestBytes: 5e6, method: 'read-back' } } };
};

const ready = (picking: boolean): State => ({ step: 'ready', label: 'a\u202eb.qcow2', picking }) as Step<'ready'>;
const needs = (notice?: string): State => ({ step: 'needs', image: imageOf(), notice }) as Step<'needs'>;

const stopping = `Stopping disk.qcow2`;
const failed: State = {
  step: 'failed',
  title: 'It failed',
  message: 'Because.',
  remains: 'Nothing is left.',
  remedies: [],
};

// (case, state, text for screen readers, title)
for (const [what, state, said, title] of [
  ['the start', { step: 'empty' }, '', undefined],
  ['the start, after a failure', { step: 'empty', notice: 'No files were found.' }, 'No files were found.', undefined],
  ['opening', { step: 'opening', name: 'disk' }, 'Reading disk', 'Reading disk'],
  ['a slow opening', { step: 'opening', name: 'disk', isSlow: true }, english.slow, 'Reading disk'],
  ['an image that takes much memory', { step: 'large', name: 'disk.zst', size: 1 << 30 }, '', 'disk.zst'],
  ['a packed image', { step: 'packed', name: 'disk.xz', format: 'qcow2', size: 3_000_000_000 }, '', 'disk.xz'],
  ['reading back', converting({ phase: 'verifying' }), english.compared(0.2), '25% disk.qcow2'],
  [
    'a verified result',
    verified('folder'),
    'Done. disk.raw is in the folder picked. Verified: every byte of the disk was read back and compared.',
    'Done: disk.raw',
  ],
  ['unpacking', { step: 'unpacking', name: 'disk.xz', share: 0.5 }, 'Unpacking disk.xz', 'Unpacking disk.xz'],
  ['unlocking', { step: 'unlocking', name: 'disk', share: 0.5 }, 'Unlocking disk', 'Reading disk'],
  ['a question', needs('The password is wrong.'), 'The password is wrong.', 'disk.qcow2'],
  ['an image', ready(false), '', 'a\\u202eb.qcow2'],
  ['a dialog', ready(true), english.picking, 'a\\u202eb.qcow2'],
  ['converting, in steps of ten', converting({}), '20 percent done', '25% disk.qcow2'],
  ['almost converted', converting({ share: 0.9999 }), '90 percent done', '99% disk.qcow2'],
  ['a short silence', converting({ silence: 4.9 }), '20 percent done', '25% disk.qcow2'],
  ['a short standstill', converting({ stalled: 29 }), '20 percent done', '25% disk.qcow2'],
  ['a standstill', converting({ stalled: 30 }), english.stalledShort, '25% disk.qcow2'],
  ['a silence', converting({ silence: 5 }), english.silentShort, '25% disk.qcow2'],
  [
    'a waiting server',
    converting({ silence: 9, waiting: { host: 'example.org', attempt: 3, status: 503 } }),
    english.waitingShort({ host: 'example.org', attempt: 0 }),
    '25% disk.qcow2',
  ],
  [
    'no network',
    converting({ silence: 9, waiting: { host: 'example.org', attempt: 3, offline: true } }),
    'This device is offline.',
    '25% disk.qcow2',
  ],
  ['finishing', converting({ phase: 'finishing' }), 'Finishing disk.qcow2', '25% disk.qcow2'],
  [
    'the check of a file',
    converting({ phase: 'finishing', target: target('folder') }),
    'Finishing disk.qcow2',
    'Finishing disk.qcow2',
  ],
  ['a cancel', converting({ cancelling: true }), stopping, stopping],
  [
    'a cancel while a new file is finished',
    converting({ cancelling: true, phase: 'finishing', target: target('folder') }),
    `${stopping}. ${english.cancelWaits}`,
    stopping,
  ],
  [
    'a cancel while a file is replaced',
    converting({ cancelling: true, phase: 'finishing', target: target('folder', fileOf('disk.raw')) }),
    `${stopping}. ${english.cancelTooLate}`,
    stopping,
  ],
  [
    'a cancel while the file of the dialog is finished',
    converting({ cancelling: true, phase: 'finishing', target: target('dialog') }),
    `${stopping}. ${english.cancelTooLate}`,
    stopping,
  ],
  ['a cancel while a download is finished', converting({ cancelling: true, phase: 'finishing' }), stopping, stopping],
  ['a file in a folder', done('folder'), 'Done. disk.raw is in the folder picked.', 'Done: disk.raw'],
  ['a file at a picked place', done('dialog'), 'Done. disk.raw was saved in the place you picked.', 'Done: disk.raw'],
  [
    'a disk that the page has received',
    done('host'),
    'Done. This page has received all of disk.raw.',
    'Done: disk.raw',
  ],
  [
    'a download',
    done('stored'),
    `${english.doneSaving}. ${english.place(target('stored'), 3)}`,
    `${english.doneSaving}: disk.raw`,
  ],
  [
    'a download whose copy is gone',
    { ...done('stored'), isCopyGone: true } as State,
    `Done. ${english.copied('disk.raw')}`,
    'Done: disk.raw',
  ],
  [
    'a stream',
    done('streamed'),
    `${english.doneSaving}. ${english.place(target('streamed'), 3)}`,
    `${english.doneSaving}: disk.raw`,
  ],
  [
    'a damaged disk',
    done('stored', 512),
    `${english.doneDamaged}. ${english.place(target('stored'), 3)}`,
    `${english.doneDamaged}: disk.raw`,
  ],
  ['a failure', failed, 'It failed. Because. Nothing is left.', 'It failed'],
  ['a failure alone', { ...failed, message: undefined, remains: undefined }, 'It failed.', 'It failed'],
  [
    'a cancel that is done',
    { ...failed, title: english.cancelled, message: undefined },
    'Cancelled. Nothing is left.',
    'Cancelled.',
  ],
] as [string, State, string, string | undefined][]) {
  test(`announcement and title: ${what}`, () => {
    expect(announcement(state, english)).toBe(said);
    expect(windowTitle(state, english)).toBe(title);
  });
}

// (case, state of the last image, results of the queue, text for screen readers)
for (const [what, state, overall, said] of [
  [
    'one has failed',
    done('folder'),
    { done: 3, all: 4, failed: ['a\u202eb.qcow2'], damaged: [] },
    '3 of 4 converted. Not converted: a\\u202eb.qcow2. disk.raw is in the folder picked.',
  ],
  [
    'the last one has failed',
    failed,
    { done: 3, all: 4, failed: ['disk.qcow2'], damaged: [] },
    '3 of 4 converted. Not converted: disk.qcow2. It failed. Because. Nothing is left.',
  ],
  [
    'one is damaged',
    done('folder', 512),
    { done: 4, all: 4, failed: [], damaged: ['disk.qcow2'] },
    '4 of 4 converted. Converted, but damaged: disk.qcow2. disk.raw is in the folder picked.',
  ],
] as const) {
  test(`announcement and title of the end of a queue: ${what}`, () => {
    const all = { ...overall, failed: [...overall.failed], damaged: [...overall.damaged] };
    expect(announcement(state, english, undefined, all)).toBe(said);
    expect(windowTitle(state, english, all)).toBe(`${overall.done} of 4 converted`);
  });
}

test('what interrupted conversions have left is announced', () => {
  const remains = ['One.', 'Two.'].map((text) => ({ image: 'a', text, action: 'Free', remove: async () => '' }));
  expect(announcement({ step: 'empty', notice: 'No files.', remains }, english)).toBe('No files. One. Two.');
});

test('a server that keeps the opening waiting is announced once, and its end', () => {
  const opening: State = { step: 'opening', name: 'disk' };
  const waiting = [{ host: 'example.org', attempt: 1, status: 500 }, { host: 'example.org', attempt: 2 }, undefined];
  const said = waiting.map((waiting) => announcement(opening, english, waiting));
  const waits = english.waitingShort({ host: 'example.org', attempt: 0 });
  expect(said).toEqual([waits, waits, 'Reading disk']);
  expect(waiting.map((waiting) => announcement(ready(false), english, waiting))).toEqual([waits, waits, '']);
  expect(announcement(ready(true), english, waiting[0])).toBe(english.picking);
});

const server = { host: 'example.org', attempt: 1 };
test.each([
  ['while it converts', {}, ['25%', 'about 9\u00a0s left', '100\u00a0MB/s of data']],
  ['at the beginning', { share: 0, secondsLeft: undefined, speed: undefined }, ['', '', '']],
  ['while nothing moves', { stalled: 30, secondsLeft: undefined, speed: undefined }, ['25%', '', '']],
  [
    'while a file is read back',
    { phase: 'verifying', target: target('folder') },
    ['25%', 'about 9\u00a0s left', '100\u00a0MB/s of data'],
  ],
  [
    'while a download is completed',
    { phase: 'finishing', secondsLeft: undefined },
    ['25%', 'nearly done', '100\u00a0MB/s of data'],
  ],
  ['while the browser checks a file in a folder', { phase: 'finishing', target: target('folder') }, ['', '', '']],
  ['while the browser checks a file of the dialog', { phase: 'finishing', target: target('dialog') }, ['', '', '']],
  ['while a download that is completed waits for a server', { phase: 'finishing', waiting: server }, ['', '', '']],
  ['while a server is silent at the end', { phase: 'finishing', silence: 5 }, ['', '', '']],
  ['after a cancel', { cancelling: true }, ['', '', '']],
] as const)('only numbers that are known are shown: %s', (_, more, expected) => {
  expect(numbersOf(converting(more) as Step<'converting'>, english)).toEqual(expected);
});

const file = fileOf('disk.raw');
const { finishing, cancelWaits, cancelTooLate } = english;
const [mayClose, toStop, toStopNew] = [
  english.mayClose('disk.raw'),
  english.quitToStop('disk.raw', true),
  english.quitToStop('disk.raw', false),
];
test.each([
  // (what, target, whether it is cancelled, whether it takes hours, the hint)
  ['a download', target('stored'), false, false, undefined],
  ['a short check', target('folder'), false, false, finishing],
  ['a long check', target('folder'), false, true, `${finishing} ${mayClose} ${toStopNew}`],
  [
    'a long check of a file that replaces one',
    target('folder', file),
    false,
    true,
    `${finishing} ${mayClose} ${toStop}`,
  ],
  ['a long check that is cancelled', target('folder'), true, true, `${cancelWaits} ${toStopNew}`],
  ['one that is cancelled too late', target('folder', file), true, true, `${cancelTooLate} ${toStop}`],
] as const)('a hint while the browser finishes: %s', (_, target, cancelling, takesHours, expected) => {
  const state = converting({ phase: 'finishing', target, cancelling, takesHours }) as Step<'converting'>;
  expect(finishingHint(state, english)).toBe(expected);
});

test.each([
  ['a new file', { target: target('folder') }, true],
  ['a file that is replaced', { target: target('folder', fileOf('disk.raw')) }, true],
  ['the file of the dialog', { target: target('dialog') }, true],
  ['after a cancel', { target: target('folder'), cancelling: true }, true],
  ['a file that is soon complete', { target: target('folder'), finishing: 0.9 }, false],
  ['a download', { target: target('stored') }, false],
  ['a file that is still written', { target: target('folder'), phase: 'converting', finishing: undefined }, false],
  ['a file that is read back', { target: target('folder'), phase: 'verifying' }, false],
] as const)('whether the file can be left to the browser: %s', (_, more, expected) => {
  const state = converting({ phase: 'finishing', finishing: 1, ...more }) as Step<'converting'>;
  expect(canLeaveToBrowser(state)).toBe(expected);
});
