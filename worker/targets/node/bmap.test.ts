import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Extent } from '../../public/types.js';
import { bmapOf } from './bmap.js';
import { OutputPath } from './output-path.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bmap-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const { signal } = new AbortController();
const BLOCK = 4096;

type Range = [offset: number, length: number];

async function* extentsOf(data: Range[]) {
  for (const [offset, length] of data) {
    yield { offset: offset + length, length: 1, kind: 'zero' } as Extent;
    yield { offset, length, kind: 'data' } as Extent;
  }
}

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

// (what, size, data, rewritten, ranges of blocks)
test.each<[string, number, Range[] | undefined, Range[], [number, number][]]>([
  ['nothing', 10 * BLOCK, [], [], []],
  ['an empty file', 0, undefined, [], []],
  ['all of a stream', 2 * BLOCK + 5, undefined, [], [[0, 2]]],
  ['one byte', 10 * BLOCK, [[BLOCK + 5, 1]], [], [[1, 1]]],
  ['over the end of a block', 10 * BLOCK, [[2 * BLOCK - 1, 2]], [], [[1, 2]]],
  [
    'neighbours, and others',
    10 * BLOCK,
    [
      [0, BLOCK],
      [BLOCK, BLOCK],
      [4 * BLOCK, 3 * BLOCK],
    ],
    [],
    [
      [0, 1],
      [4, 6],
    ],
  ],
  [
    'rewritten ranges',
    300 * BLOCK + 512,
    [[BLOCK, 290 * BLOCK]],
    [
      [0, 1024],
      [299 * BLOCK, BLOCK + 512],
    ],
    [
      [0, 290],
      [299, 300],
    ],
  ],
])('%s', async (_, size, data, rewritten, ranges) => {
  const path = join(folder, 'disk');
  const disk = Buffer.from(Array.from({ length: size }, (_, at) => (at / 100) % 251));
  writeFileSync(path, disk);
  const result = { outputSize: size, rewritten: rewritten.map(([offset, length]) => ({ offset, length })) };
  const text = await bmapOf(data && extentsOf(data), new OutputPath(path), result, signal);
  const field = (name: string) => new RegExp(`<${name}> (\\S+) </${name}>`).exec(text)![1];
  expect(['ImageSize', 'BlockSize', 'BlocksCount', 'ChecksumType'].map(field)).toEqual([
    String(size),
    String(BLOCK),
    String(Math.ceil(size / BLOCK)),
    'sha256',
  ]);
  expect(Number(field('MappedBlocksCount'))).toBe(ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0));
  const listed = [...text.matchAll(/<Range chksum="(\w+)"> (\d+)(?:-(\d+))? <\/Range>/g)].map(
    ([, digest, first, last = first]) => [Number(first), Number(last), digest],
  );
  const digest = (first: number, last: number) => digestOf(disk.subarray(first * BLOCK, (last + 1) * BLOCK));
  expect(listed).toEqual(ranges.map(([first, last]) => [first, last, digest(first, last)]));
  const checksum = field('BmapFileChecksum')!;
  expect(checksum).toBe(digestOf(Buffer.from(text.replace(checksum, '0'.repeat(64)))));
});

test('a file that is missing or too short is an error, and a cancel too', async () => {
  const path = join(folder, 'disk');
  const make = (size: number, signal: AbortSignal) =>
    bmapOf(undefined, new OutputPath(path), { outputSize: size, rewritten: [] }, signal);
  await expect(make(1, signal)).rejects.toMatchObject({ kind: 'target' });
  writeFileSync(path, 'ab');
  await expect(make(3, signal)).rejects.toMatchObject({ kind: 'target' });
  await expect(make(2, AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
});
