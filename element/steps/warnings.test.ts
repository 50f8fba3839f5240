// The warnings that are announced to screen readers, each once.

import type { ConvertResult, Info, Notice } from 'decant';
import { expect, test } from 'vitest';
import { layerOf } from '../../worker/api/info.test-support.js';
import { imageOf, OUTPUTS, outputOf, RESULT } from '../element.test-support.js';
import { problem } from '../files/names.js';
import type { Session } from '../session/session.js';
import { english } from '../texts/english/index.js';
import type { Survey } from '../ways/choices.js';
import type { Step, Warning } from './state.js';
import { Announced, warningsOf } from './warnings.js';

const grows: Notice = { code: 'disk-grows', fields: { added: 1e6, unit: 2 ** 20 }, message: 'The disk grows' };
const GROWING = [
  OUTPUTS[0]!,
  outputOf('vpc', '.vhd', { notices: [grows] }),
  outputOf('tar.gz', '.tar.gz', { notices: [grows] }),
];
const survey: Survey = { data: 0, compressed: 0, lost: 0, complete: true, isDue: false };

const ready = (more: Partial<Step<'ready'>> = {}, info: Partial<Info> = {}): Step<'ready'> =>
  ({
    step: 'ready',
    image: imageOf(info, { formats: GROWING }),
    others: [],
    survey,
    choices: [],
    output: OUTPUTS[0],
    name: 'disk.raw',
    ...more,
  }) as Step<'ready'>;

const done = (result: Partial<ConvertResult>, tooLate: boolean) =>
  ({ step: 'done', result: { ...RESULT, ...result }, tooLate }) as Step<'done'>;

/** A session without a problem. */
const SESSION = { texts: english, links: {} } as Session;

const textsOf = (state: Parameters<typeof warningsOf>[0], session: Partial<Session> = {}): string[] =>
  warningsOf(state, { ...SESSION, ...session } as Session, false).map(({ text }) => text);

// (warning, state, session, texts)
for (const [what, state, session, expected] of [
  ['none', ready(), {}, []],
  ['a disk that grows', ready({ output: GROWING[1]!, name: 'disk.vhd' }), {}, [english.notice(grows)]],
  ['a name', ready({ nameProblem: problem('No.') }), {}, ['No.']],
  [
    'a name that the browser changes',
    ready({ name: '~mine.raw', way: 'download' }),
    {},
    [english.changedName('_mine.raw')],
  ],
  ['a name that a folder keeps', ready({ name: '~mine.raw', way: 'folder' }), {}, []],
  ['a name that no file can have', ready({ name: '~mine.', way: 'download' }), {}, []],
  ['an extension', ready({ name: 'MINE.VHD' }), {}, [english.otherExtension('.vhd', '.raw')]],
  ['an extension of no format', ready({ name: 'mine.img' }), {}, []],
  ['the extension of the format', ready({ name: 'a.tar.gz', output: outputOf('tar.gz', '.tar.gz') }), {}, []],
  ['another tab', ready({ otherTab: true }), {}, [english.otherTab]],
  [
    'several disks',
    ready(
      {
        others: [imageOf({ name: 'vm.tar: b', safety: [{ code: 'shared-bytes', fields: {}, message: 'It is odd' }] })],
      },
      { name: 'vm.tar: a', unusedCompanions: ['c'] },
    ),
    {},
    ['vm.tar: a: Not used: c.', 'vm.tar: b: It is odd.'],
  ],
  [
    'several disks of a machine that lacks one',
    ready({
      image: imageOf(
        {},
        {
          disks: [
            { name: 'a', size: 1 },
            { name: 'b', size: 0, missing: true },
          ],
        },
      ),
      others: [imageOf()],
    }),
    {},
    [english.withoutDisks(['b'])],
  ],
  ['a salvage', ready(), { isSalvage: true }, [english.salvaging(0)]],
  [
    'files that were handed over',
    ready({}, { safety: [{ code: 'backing-file', fields: { file: 'base' }, message: 'It builds on base' }] }),
    {},
    [],
  ],
  ['files without use', ready({}, { unusedCompanions: ['a'] }), {}, [english.unused(['a'])]],
  [
    'a smaller layer',
    ready({}, { layers: [layerOf('top', { virtualSize: 5e6 }), layerOf('base', { virtualSize: 3e6 })] }),
    {},
    [english.smallerLayer('base', 3e6, 'top', 5e6)],
  ],
  [
    'an image',
    ready({}, { safety: [{ code: 'dirty', fields: {}, message: 'It was not closed' }] }),
    {},
    ['It was not closed.'],
  ],
  [
    'a damaged partition table',
    ready({ survey: { ...survey, contents: { table: { kind: 'MBR', damaged: true }, partitions: [] } as never } }),
    {},
    [english.contents.damaged],
  ],
  [
    'a way that has become impossible',
    ready({ lostWay: 'folder', choices: [{ way: 'folder', method: 'picked', obstacle: 'The folder is gone.' }] }),
    {},
    [`The folder is gone. ${english.chooseWay}`],
  ],
  [
    'a result',
    done({ notices: [grows], lostBytes: 512, lostRanges: 1 }, true),
    {},
    [english.wasTooLate, english.notice(grows), english.lost(512, 1)],
  ],
  [
    'a result of two layers with the same notice',
    done({ notices: [grows, grows] }, false),
    {},
    [english.notice(grows)],
  ],
  ['another step', { step: 'empty', notice: 'No files were found.' }, {}, []],
] as [string, Parameters<typeof warningsOf>[0], Partial<Session>, string[]][]) {
  test(`warnings about ${what}`, () => expect(textsOf(state, session)).toEqual(expected));
}

/** Announces the warnings one after the other. Returns the texts that the live region has after each. */
function announced(...steps: Warning[][]): string[][] {
  const region = new Announced();
  return steps.map((warnings) => {
    region.take(warnings);
    return region.items.map(({ text }) => text);
  });
}

test('a warning keeps its first text while it stays, and is announced again when it comes back', () => {
  const [first, second] = [
    { id: 'a', text: 'at least 5 MB' },
    { id: 'a', text: 'at least 6 MB' },
  ];
  const other = { id: 'b', text: 'other' };
  expect(announced([first], [other, second], [other], [second])).toEqual([
    ['at least 5 MB'],
    ['other', 'at least 5 MB'],
    ['other'],
    ['at least 6 MB'],
  ]);
});

test('what the focus reads is not announced too, unless it comes back', () => {
  const text = 'Enter a file name.';
  const [read, said] = [
    { id: 'name', text, isDescription: true },
    { id: 'name', text, isDescription: false },
  ];
  expect(announced([read], [said], [], [said])).toEqual([[], [], [], [text]]);
});

test('a disk grows differently in each format', () => {
  const ids = GROWING.slice(1).map((output) => warningsOf(ready({ output }), SESSION, false)[0]?.id);
  expect(new Set(ids).size).toBe(2);
});

test('a refused link is announced each time while it is typed, and read with the focus otherwise', () => {
  const problem = (refusals: number) => ({ turn: new AbortController().signal, need: undefined, refusals });
  const [reading, typing] = [1, 2].map((refusals) => {
    const session = { ...SESSION, links: { problem: problem(refusals) } } as Session;
    return warningsOf({ step: 'empty' }, session, refusals === 2)[0];
  });
  expect(reading).toEqual({ id: 'address 1', text: english.noAddress, isDescription: true });
  expect(typing).toEqual({ id: 'address 2', text: english.noAddress, isDescription: false });
});

test('a problem with the name is announced while it is typed, and read with the focus otherwise', () => {
  const state = ready({ nameProblem: problem('No.') });
  const [reading, typing] = [false, true].map((isNaming) => warningsOf(state, SESSION, isNaming)[0]);
  expect([reading?.isDescription, typing?.isDescription]).toEqual([true, false]);
});
