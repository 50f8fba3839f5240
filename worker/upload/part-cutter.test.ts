// Cutting an output into parts.

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { random } from '../../e2e/support/random.js';
import { LocalBodyMaker } from './body-maker.js';
import { LateFirstPart, PartCutter, type UploadPart } from './part-cutter.js';
import { piecesOf } from './request-body.js';
import { held } from './uploads.test-support.js';

describe('in order', () => {
  const SIZE = 8;

  /** Cuts `pieces`: bytes, or a number of zeros. */
  async function cut(
    pieces: (number[] | number)[],
    begun = { parts: 0, written: 0 },
    sizeOf = (_: number) => SIZE,
  ): Promise<UploadPart[]> {
    const parts: UploadPart[] = [];
    const cutter = new PartCutter(sizeOf, begun, async (part) => void parts.push(part));
    for (const piece of pieces) {
      if (typeof piece === 'number') await cutter.addZeros(piece);
      else await cutter.add(Uint8Array.from(piece));
    }
    await cutter.end();
    return parts;
  }

  const bytesOf = ({ body }: UploadPart) => body as Uint8Array;
  test('growing parts are contiguous', async () => {
    const sizeOf = (number: number) => 2 << Math.floor(number / 2);
    const parts = await cut([9, [1, 2, 3, 4, 5, 6, 7]], undefined, sizeOf);
    expect(parts.map((part) => [part.number, part.offset, bytesOf(part).join('')])).toEqual([
      [0, 0, '00'],
      [1, 2, '00'],
      [2, 4, '0000'],
      [3, 8, '0123'],
      [4, 12, '4567'],
    ]);
  });

  /** The fields of a part in most rows. */
  const shown = (part: UploadPart) => [bytesOf(part).join(''), part.isLast, part.written];

  test.each<[string, (number[] | number)[], unknown[]]>([
    ['nothing: one part without bytes', [], [['', true, 0]]],
    ['less than a part', [[1, 2]], [['12', true, 2]]],
    ['a part exactly: it is the last one', [[1, 2, 3, 4, 5, 6, 7, 8]], [['12345678', true, 8]]],
    ['zeros of a part exactly', [SIZE], [['00000000', true, 0]]],
    [
      'a part and a byte',
      [[1, 2, 3, 4, 5, 6, 7, 8, 9]],
      [
        ['12345678', false, 8],
        ['9', true, 9],
      ],
    ],
    [
      'bytes, zeros and bytes in a part',
      [[1, 2], 3, [3], 4],
      [
        ['12000300', false, 3],
        ['00', true, 3],
      ],
    ],
    [
      'zeros over several parts',
      [[1], 2 * SIZE + 1, [2]],
      [
        ['10000000', false, 1],
        ['00000000', false, 1],
        ['002', true, 2],
      ],
    ],
  ])('%s', async (_, pieces, expected) => {
    expect((await cut(pieces)).map(shown)).toEqual(expected);
  });

  test('a resumed upload continues at its number, offset and count', async () => {
    const parts = await cut([[1, 2, 3, 4, 5, 6, 7, 8, 9]], { parts: 3, written: 20 });
    expect(parts.map(({ number, offset, written }) => [number, offset, written])).toEqual([
      [3, 24, 28],
      [4, 32, 29],
    ]);
  });

  test('parts of zeros share one buffer, and a later part has none of the bytes of an earlier one', async () => {
    const parts = await cut([2 * SIZE, [1, 1, 1, 1, 1, 1, 1, 1], [2], SIZE]);
    expect(bytesOf(parts[0]!).buffer).toBe(bytesOf(parts[1]!).buffer);
    expect(bytesOf(parts[2]!).buffer).not.toBe(bytesOf(parts[1]!).buffer);
    expect(bytesOf(parts[3]!).join('')).toBe('20000000');
    expect(bytesOf(parts[1]!).join('')).toBe('00000000');
  });

  test('no part is made while the previous one is pending', async () => {
    const taken: UploadPart[] = [];
    const { work, succeed } = held();
    const cutter = new PartCutter(
      () => SIZE,
      { parts: 0, written: 0 },
      async (part) => {
        taken.push(part);
        await work();
      },
    );
    const adding = cutter.add(new Uint8Array(4 * SIZE));
    await new Promise((done) => setImmediate(done));
    expect(taken).toHaveLength(1);
    succeed();
    await adding;
    expect(taken).toHaveLength(3);
  });

  test('a failed part rejects the next write', async () => {
    const cutter = new PartCutter(
      () => SIZE,
      { parts: 0, written: 0 },
      () => Promise.reject(new Error('full')),
    );
    await cutter.addZeros(SIZE);
    await expect(cutter.addZeros(1)).rejects.toThrow('full');
  });

  test('pieces of random sizes: the parts equal the input (40 seeds)', async () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const next = random(seed);
      const pieces = Array.from({ length: 12 }, () => {
        const length = Math.floor(next() * 3 * SIZE);
        return next() < 0.5 ? length : Array.from({ length }, () => 1 + Math.floor(next() * 9));
      });
      const all = pieces.flatMap((piece) => (typeof piece === 'number' ? Array<number>(piece).fill(0) : piece));
      const parts = await cut(pieces);
      expect(
        parts.flatMap((part) => [...bytesOf(part)]),
        `seed ${seed}`,
      ).toEqual(all);
      expect(parts.at(-1)!.written, `seed ${seed}`).toBe(all.filter((byte) => byte > 0).length);
      for (const [number, part] of parts.entries()) {
        const isLast = number === parts.length - 1;
        expect(part, `seed ${seed}`).toMatchObject({ number, offset: number * SIZE, isLast });
        expect(part.size, `seed ${seed}`).toBe(bytesOf(part).length);
        if (!isLast) expect(part.size, `seed ${seed}`).toBe(SIZE);
      }
    }
  });

  test('a digest has the bytes of each part when the part is passed on', async () => {
    const maker = new LocalBodyMaker();
    const found: string[] = [];
    const take = async (part: UploadPart) => {
      const expected = createHash('md5').update(bytesOf(part)).digest();
      found.push(expected.equals(await part.digest()) ? 'right' : 'wrong');
    };
    const cutter = new PartCutter(() => SIZE, { parts: 0, written: 0 }, take, maker);
    for (const piece of [[1, 2, 3], 2, [4], 2 * SIZE + 4, [5], SIZE]) {
      if (typeof piece === 'number') await cutter.addZeros(piece);
      else await cutter.add(Uint8Array.from(piece));
    }
    await cutter.end();
    expect(found).toEqual(Array(5).fill('right'));
  });
});

describe('with the first part last', () => {
  const SIZE = 10;

  /** The bytes from `start` to `end`, which identify their positions. */
  const bytesAt = (start: number, end: number) => Uint8Array.from({ length: end - start }, (_, at) => start + at);

  type Call = ['write' | 'hole', number, number];

  /** The parts that `calls` make, in the order in which they are sent: number, offset, bytes, and whether it is the last. */
  async function partsOf(calls: Call[]): Promise<[number, number, number[], boolean][]> {
    const parts: UploadPart[] = [];
    const take = async (part: UploadPart) => void parts.push(part);
    const others = new PartCutter(() => SIZE, { parts: 1, written: 0 }, take);
    const first = new LateFirstPart(SIZE, others, take, new LocalBodyMaker());
    for (const [kind, start, end] of calls) {
      if (kind === 'write') await first.add(start, bytesAt(start, end));
      else await first.addZeros(start, end - start);
    }
    await first.end();
    const contents = parts.map(async ({ number, offset, body, isLast }) => {
      const pieces: number[] = [];
      for await (const piece of piecesOf(body)) pieces.push(...piece);
      return [number, offset, pieces, isLast] as [number, number, number[], boolean];
    });
    return Promise.all(contents);
  }

  const range = (start: number, end: number) => [...bytesAt(start, end)];
  const zeros = (count: number) => Array.from({ length: count }, () => 0);

  test.each<[string, Call[], [number, number, number[], boolean][]]>([
    [
      'all in one part',
      [
        ['write', 4, 7],
        ['write', 0, 4],
      ],
      [[0, 0, range(0, 7), true]],
    ],
    [
      'a full part',
      [
        ['write', 4, 10],
        ['write', 2, 4],
        ['write', 0, 2],
      ],
      [[0, 0, range(0, 10), true]],
    ],
    [
      'a write across the end of the first part',
      [
        ['write', 4, 13],
        ['write', 0, 4],
      ],
      [
        [1, 10, range(10, 13), true],
        [0, 0, range(0, 10), false],
      ],
    ],
    [
      'several parts, and holes',
      [
        ['write', 4, 6],
        ['hole', 6, 12],
        ['write', 12, 25],
        ['hole', 25, 27],
        ['write', 0, 4],
      ],
      [
        [1, 10, [...zeros(2), ...range(12, 20)], false],
        [2, 20, [...range(20, 25), ...zeros(2)], true],
        [0, 0, [...range(0, 6), ...zeros(4)], false],
      ],
    ],
    [
      'a hole only in the first part',
      [
        ['hole', 4, 8],
        ['write', 0, 4],
      ],
      [[0, 0, [...range(0, 4), ...zeros(4)], true]],
    ],
  ])('%s', async (_, calls, expected) => {
    expect(await partsOf(calls)).toEqual(expected);
  });
});
