// What a conversion costs besides time, counted in the wasm that ships: these figures are exact, so they are
// asserted here, while the benchmark shows the times.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

interface Moved {
  calls: number;
  total: number;
  union: number;
}

interface Counts {
  ofJobs: number[];
  all: number;
  reads: Moved;
  writes: Moved;
  progress: { guestTotal: number; written: number };
}

const program = fileURLToPath(new URL('../support/count.mjs', import.meta.url));
const count = (image: string): Counts =>
  JSON.parse(execFileSync(process.execPath, [program, image], { encoding: 'utf8' }));

/** The size of a job, in bytes of the disk, with the memory that count.mjs gives. */
const JOB = 8 << 20;
/** How many jobs are smaller: the first ones, until a quarter of what was planned before them is a whole job. */
const SMALLER_JOBS = 14;

/** The bytes of an L2 table for each cluster. */
const ENTRY = 8;
/** The header and the start of the L1 table, which are read when the image is opened. */
const HEADERS = 64 << 10;
/** Compressed clusters share sectors with their neighbours. At both ends of a job a sector is read by two jobs. */
const SECTORS = 2 * 512;

for (const [name, image, cluster] of [
  ['zlib', images.zlib, 64 << 10],
  ['clusters of 4 KiB', images.zlibTiny, 4 << 10],
  ['uncompressed', images.plain, 64 << 10],
] as const) {
  test(`${name}: every byte is read once and written once, in large calls`, () => {
    const path = image();
    const { ofJobs, reads, writes, progress } = count(path);
    expect(ofJobs.length).toBeLessThanOrEqual(Math.ceil(progress.guestTotal / JOB) + SMALLER_JOBS);
    expect(writes.total).toBe(writes.union);
    expect(writes.total).toBe(progress.written);
    // L2 tables that lie between data are read with it once more: that is cheaper than another call.
    const tables = (progress.guestTotal / cluster) * ENTRY;
    expect(reads.total - reads.union).toBeLessThanOrEqual(tables + HEADERS + ofJobs.length * SECTORS);
    expect(reads.union).toBeLessThanOrEqual(statSync(path).size);
    expect(reads.calls).toBeLessThan(10 * ofJobs.length);
  });
}

test('nothing is allocated for a cluster', () => {
  const [large, small] = [count(images.zlib()), count(images.zlibTiny())];
  const most = (counts: Counts) => Math.max(...counts.ofJobs);
  // Of 4 KiB a job has 1,920 clusters more than of 64 KiB. What grows with their number is a list or two,
  // which doubles when it is full.
  expect(most(small)).toBeLessThan(most(large) + 32);
  const clusters = small.progress.guestTotal / 4096;
  expect(small.all).toBeLessThan(clusters / 20);
});

test('empty space costs nothing', () => {
  const { ofJobs, reads, writes, all } = count(images.huge());
  expect(ofJobs).toEqual([]);
  expect(writes.calls).toBe(0);
  expect(reads.calls).toBeLessThan(10);
  expect(all).toBeLessThan(200);
});
