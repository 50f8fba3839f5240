// The first part is sent last, for all sequences of writes.

import { expect, test } from 'vitest';
import { LateFirstPart } from './late-first-part.js';
import { Md5 } from './md5.js';
import { PartCutter, type UploadPart } from './part-cutter.js';
import { piecesOf } from './request-body.js';

const SIZE = 10;

/** The bytes from `start` to `end`, which identify their positions. */
const bytesAt = (start: number, end: number) => Uint8Array.from({ length: end - start }, (_, at) => start + at);

type Call = ['write' | 'hole', number, number];

/** The parts that come of `calls`, in the order in which they are sent: number, offset, bytes, and whether it is the last. */
async function partsOf(calls: Call[]): Promise<[number, number, number[], boolean][]> {
  const parts: UploadPart[] = [];
  const take = async (part: UploadPart) => void parts.push(part);
  const others = new PartCutter(() => SIZE, { parts: 1, written: 0 }, take);
  const first = new LateFirstPart(SIZE, others, take, new Md5());
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
