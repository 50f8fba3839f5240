// The output of `decant compare` for a result.

import { afterEach, expect, test, vi } from 'vitest';
import type { CompareOptions, CompareResult } from '../public/types.js';
import { compareDisks } from './compare-command.js';

const { opened } = vi.hoisted(() => ({ opened: [] as object[] }));
vi.mock('./run-context.js', () => ({
  withDisk: (_command: object, _context: object, work: (image: object) => Promise<number>) => work(opened.shift()!),
}));

afterEach(() => {
  vi.restoreAllMocks();
});

const SAME: CompareResult = {
  same: true,
  virtualSizes: [2048, 2048],
  differentBytes: 0,
  differentRanges: 0,
  notices: [],
  lost: [],
  lostRanges: 0,
  lostBytes: 0,
};
const differing = (firstDifference: number, bytes: number, ranges: number): Partial<CompareResult> => ({
  same: false,
  firstDifference,
  differentBytes: bytes,
  differentRanges: ranges,
});

/**
 * Runs the command with these arguments on images whose comparison has this result; if they are `streamed`, their sizes are not known before.
 * Returns the exit code and what is printed.
 */
async function run(
  question: object,
  changes: Partial<CompareResult>,
  ranges: { offset: number; length: number }[] = [],
  streamed = false,
) {
  const compared = { ...SAME, ...changes };
  const [out, err]: [string[], string[]] = [[], []];
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => Boolean(out.push(String(chunk))));
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => Boolean(err.push(String(chunk))));
  const compare = async (_other: object, { onProgress, onRanges }: CompareOptions) => {
    const { firstDifference } = compared;
    if (firstDifference !== undefined) onProgress?.({ phase: 'comparing', fraction: 0.5, firstDifference });
    onRanges?.(ranges);
    return compared;
  };
  const imageOf = (virtualSize: number) => ({ streamed, info: streamed ? {} : { virtualSize }, compare });
  opened.push(...compared.virtualSizes.map(imageOf));
  const image = { image: 'a', opening: { companions: [] } };
  const command = {
    ...image,
    strict: false,
    quiet: false,
    json: false,
    all: false,
    progress: false,
    other: image,
    ...question,
  };
  const code = await compareDisks(command as never, { signal: new AbortController().signal } as never);
  return { code, out: out.join(''), err: err.join('') };
}

const SIZES = { virtualSizes: [2048, 4096] as [number, number] };
const WARNING = 'Warning: Image size mismatch!\n';
const STRICT = { strict: true };

test.each([
  ['the same', {}, {}, 0, 'Images are identical.\n'],
  [
    'one byte',
    {},
    differing(1234, 1, 1),
    1,
    'Content mismatch at offset 1024!\n1 byte in 1 range differs; the first is at offset 1234\n',
  ],
  [
    'many',
    {},
    differing(0, 70, 2),
    1,
    'Content mismatch at offset 0!\n70 bytes in 2 ranges differ; the first is at offset 0\n',
  ],
  ['zeros at the end', {}, SIZES, 0, `${WARNING}Images are identical.\n`],
  [
    'before the end',
    {},
    { ...SIZES, ...differing(2047, 1, 1) },
    1,
    'Content mismatch at offset 1536!\n1 byte in 1 range differs; the first is at offset 2047\n',
  ],
  [
    'after the end',
    {},
    { ...SIZES, ...differing(2048, 1, 1) },
    1,
    `${WARNING}Content mismatch at offset 2048!\n1 byte in 1 range differs; the first is at offset 2048\n`,
  ],
  ['other sizes, strict', STRICT, SIZES, 1, 'Strict mode: Image size mismatch!\n'],
  [
    'other allocation',
    STRICT,
    { same: false, firstAllocationDifference: 512 },
    1,
    'Strict mode: Offset 512 block status mismatch!\n',
  ],
  [
    'allocation first',
    STRICT,
    { ...differing(512, 1, 1), firstAllocationDifference: 512 },
    1,
    'Strict mode: Offset 512 block status mismatch!\n1 byte in 1 range differs; the first is at offset 512\n',
  ],
  [
    'content first',
    STRICT,
    { ...differing(511, 1, 1), firstAllocationDifference: 512 },
    1,
    'Content mismatch at offset 0!\n1 byte in 1 range differs; the first is at offset 511\n',
  ],
  ['quiet', { quiet: true }, differing(0, 1, 1), 1, ''],
] as const)('%s', async (_, question, result, code, out) => {
  expect(await run(question, result as Partial<CompareResult>)).toEqual({ code, out, err: '' });
});

test.each([
  ['the same', {}, {}, 0, 'Images are identical.\n'],
  ['zeros at the end', {}, SIZES, 0, `${WARNING}Images are identical.\n`],
  [
    'after the end',
    {},
    { ...SIZES, ...differing(2048, 1, 1) },
    1,
    `${WARNING}Content mismatch at offset 2048!\n1 byte in 1 range differs; the first is at offset 2048\n`,
  ],
  ['other sizes, strict', STRICT, { ...SIZES, same: false }, 1, 'Strict mode: Image size mismatch!\n'],
] as const)('images in order, %s', async (_, question, changes, code, out) => {
  const notices = [{ code: 'trailer', fields: {}, message: "'a', disk 1 of 2: bytes follow" }];
  const result = { ...(changes as Partial<CompareResult>), notices };
  const storing = "decant: note: storing the disk of 'the disk' in a temporary file in '/spool'\n";
  const err = `${storing}${storing}decant: note: 'a', disk 1 of 2: bytes follow\n`;
  expect(await run({ ...question, spool: '/spool' }, result, [], true)).toEqual({ code, out, err });
  expect(await run({ ...question, spool: '/spool', quiet: true }, result, [], true)).toEqual({
    code,
    out: '',
    err: '',
  });
});

test('lost ranges are listed', async () => {
  const lost = [{ offset: 5, length: 7, code: 'truncated', message: 'the file ends', disk: 2 }];
  const result = await run({}, { lost: lost as CompareResult['lost'], lostRanges: 1, lostBytes: 7 });
  expect(result).toEqual({
    code: 3,
    out: 'No difference was found in what can be read.\n',
    err: 'decant: lost: 7 bytes at 5 of disk 2: the file ends\n',
  });
});

test.each([
  [
    {},
    {},
    [],
    { same: true, 'virtual-sizes': [2048, 2048], 'different-bytes': 0, 'different-ranges': 0, 'lost-bytes': 0 },
  ],
  [{ all: true }, {}, [], { ranges: [], same: true }],
  [
    { all: true },
    differing(3, 5, 2),
    [
      { offset: 3, length: 1 },
      { offset: 9, length: 4 },
    ],
    {
      ranges: [
        { offset: 3, length: 1 },
        { offset: 9, length: 4 },
      ],
      same: false,
      offset: 3,
      'different-bytes': 5,
    },
  ],
])('JSON of %j %j', async (question, result, ranges, expected) => {
  const { out } = await run({ ...question, json: true }, result, ranges);
  expect(JSON.parse(out)).toMatchObject(expected);
});
