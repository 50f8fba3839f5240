// A map as it is printed.

import { describe, expect, test, vi } from 'vitest';
import type { Extent } from '../public/types.js';
import { map } from './map-command.js';
import { MAX_LISTED } from './printing.js';

const extent = (offset: number, length: number, kind: Extent['kind'], more: Partial<Extent> = {}): Extent => {
  return { offset, length, kind, depth: 0, compressed: false, encrypted: false, ...more };
};

const DATA = extent(0, 65_536, 'data', { file: 'a.qcow2', hostOffset: 327_680 });
const ZERO = extent(65_536, 65_536, 'zero');
const HOLE = extent(131_072, 1, 'unallocated', { depth: 1 });
const PACKED = extent(131_073, 512, 'data', { compressed: true });
const LOST = extent(131_585, 7, 'lost', { message: 'the file ends' });

/** Prints the map of `extents`. Returns standard output, stderr and the result. */
async function printed(
  extents: Iterable<Extent>,
  json: boolean,
): Promise<{ out: string; err: string; ended: unknown }> {
  const [out, err]: string[][] = [[], []];
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => Boolean(out!.push(String(chunk))));
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => Boolean(err!.push(String(chunk))));
  const image = {
    async *map() {
      yield* extents;
    },
  };
  const ended = await map(image, { json }, new AbortController().signal).catch((error: unknown) => error);
  return { out: out!.join(''), err: err!.join(''), ended };
}

describe('JSON', () => {
  test('an object on each line', async () => {
    const lines = [
      '[{ "start": 0, "length": 65536, "depth": 0, "present": true, "zero": false, "data": true, "offset": 327680},',
      '{ "start": 65536, "length": 65536, "depth": 0, "present": true, "zero": true, "data": false},',
      '{ "start": 131072, "length": 1, "depth": 1, "present": false, "zero": true, "data": false},',
      '{ "start": 131073, "length": 512, "depth": 0, "present": true, "zero": false, "data": true}]',
      '',
    ];
    const seen = await printed([DATA, ZERO, HOLE, PACKED], true);
    expect(seen).toEqual({ out: lines.join('\n'), err: '', ended: true });
    expect(JSON.parse(seen.out)).toHaveLength(4);
  });

  test('one extent, and none', async () => {
    expect((await printed([ZERO], true)).out).toBe(
      '[{ "start": 65536, "length": 65536, "depth": 0, "present": true, "zero": true, "data": false}]\n',
    );
    expect(await printed([], true)).toEqual({ out: '[]\n', err: '', ended: true });
  });

  test('lost ranges are reported as well', async () => {
    const { out, err, ended } = await printed([LOST], true);
    expect(JSON.parse(out)).toMatchObject([{ start: 131_585, present: false, zero: true, data: false }]);
    expect(err).toBe('decant: lost: 7 bytes at 131585: the file ends\n');
    expect(ended).toBe(false);
  });
});

describe('the table', () => {
  const header = 'Offset          Length          Mapped to       File\n';

  test('has the data alone', async () => {
    const at = extent(2 ** 40, 1, 'data', { file: 'b\n.qcow2', hostOffset: 0 });
    const row = '0               0x10000         0x50000         a.qcow2\n';
    const other = '0x10000000000   0x1             0               b\\u000a.qcow2\n';
    expect(await printed([DATA, ZERO, HOLE, at], false)).toEqual({ out: header + row + other, err: '', ended: true });
  });

  test('is a header where there is no data', async () => {
    expect(await printed([ZERO], false)).toEqual({ out: header, err: '', ended: true });
    expect(await printed([], false)).toEqual({ out: header, err: '', ended: true });
  });

  test('does not show compressed data', async () => {
    const { ended } = await printed([PACKED], false);
    expect(ended).toMatchObject({ kind: 'unsupported', message: expect.stringMatching(/compressed.*--output=json$/) });
  });

  test('a failure before the first extent comes without a table', async () => {
    const next = () => {
      throw new Error('broken');
    };
    expect(await printed({ [Symbol.iterator]: () => ({ next }) }, false)).toMatchObject({
      out: '',
      ended: { message: 'broken' },
    });
  });
});

for (const [more, said] of [
  [0, ''],
  [1, 'decant: lost: 1 more range, not listed\n'],
  [2, 'decant: lost: 2 more ranges, not listed\n'],
] as const) {
  test(`of ${MAX_LISTED} + ${more} lost ranges ${more} are only counted`, async () => {
    const ranges = Array.from({ length: MAX_LISTED + more }, (_, at) => extent(at, 1, 'lost', { message: 'noise' }));
    const { err, ended } = await printed(ranges, true);
    expect(ended).toBe(false);
    expect(err.split('\n').filter((line) => line.endsWith(': noise'))).toHaveLength(MAX_LISTED);
    expect(err.slice(err.lastIndexOf('noise\n') + 6)).toBe(said);
  });
}
