// Costs of a conversion besides time, counted in the shipped wasm: these figures are exact, so they are asserted here; the
// benchmark shows times.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { images, qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';

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

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = fileURLToPath(new URL('../support/count.mjs', import.meta.url));
const count = (image: string): Counts =>
  JSON.parse(execFileSync(process.execPath, [program, image], { encoding: 'utf8' }));

const folder = mkdtempSync(join(tmpdir(), 'decant-'));
test.afterAll(() => rmSync(folder, { recursive: true }));

/** A disk of 96 MiB, two thirds of it data that can be compressed, as an image of clusters of `cluster` bytes. */
function made(cluster: number, ...options: string[]): string {
  const [raw, image] = [join(folder, 'raw'), join(folder, `${cluster}${options.join('')}`)];
  const next = random(7);
  const disk = Buffer.alloc(96 << 20);
  for (let at = 0; at < 64 << 20; at += 64) disk.writeUInt32LE(next() * 2 ** 32, at);
  writeFileSync(raw, disk);
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', ...options, '-o', `cluster_size=${cluster}`, raw, image);
  return image;
}

/** The size of a job, in bytes of the disk, with the memory that count.mjs gives. */
const JOB = 8 << 20;
/** The number of smaller jobs: the first ones, until a quarter of the planned bytes is a whole job. */
const SMALLER_JOBS = 14;

/** The bytes of an L2 table for each cluster. */
const ENTRY = 8;
/** The header and the start of the L1 table, which are read when the image is opened. */
const HEADERS = 64 << 10;
/** Compressed clusters share sectors with their neighbours. At both ends of a job a sector is read by two jobs. */
const SECTORS = 2 * 512;

for (const [name, cluster, options, tag] of [
  ['zlib', 64 << 10, ['-c'], []],
  ['clusters of 4 KiB', 4 << 10, ['-c'], ['@full']],
  ['uncompressed', 64 << 10, [], ['@full']],
] as const) {
  test(`${name}: every byte is read once and written once, in large calls`, { tag: [...tag] }, () => {
    const path = made(cluster, ...options);
    const { ofJobs, reads, writes, progress } = count(path);
    expect(ofJobs.length).toBeLessThanOrEqual(Math.ceil(progress.guestTotal / JOB) + SMALLER_JOBS);
    expect(writes.total).toBe(writes.union);
    expect(writes.total).toBe(progress.written);
    // L2 tables between data are read again with it, which is cheaper than another call.
    const tables = (progress.guestTotal / cluster) * ENTRY;
    expect(reads.total - reads.union).toBeLessThanOrEqual(tables + HEADERS + ofJobs.length * SECTORS);
    expect(reads.union).toBeLessThanOrEqual(statSync(path).size);
    expect(reads.calls).toBeLessThan(10 * ofJobs.length);
  });
}

test('nothing is allocated for a cluster', { tag: '@full' }, () => {
  const [large, small] = [count(made(64 << 10, '-c')), count(made(4 << 10, '-c'))];
  const most = (counts: Counts) => Math.max(...counts.ofJobs);
  // With clusters of 4 KiB a job has 1,920 more of them than with 64 KiB. Only a list or two grow with their number, by
  // doubling.
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

/** Converts `image` by the package and counts the workers that it starts. */
function workersFor(image: string): number {
  const script = `
    import { Worker } from 'node:worker_threads';
    import { configure, open } from '${root}dist/node.js';
    let started = 0;
    const worker = () => {
      started += 1;
      return new Worker('${root}dist/worker.node.mjs', { execArgv: [] });
    };
    configure({ worker });
    const image = await open(process.argv[1], { workers: 4 });
    await image.convert({ write: async () => {}, close: async () => {}, abort: async () => {} });
    await image.close();
    process.stdout.write(String(started));
  `;
  const program = ['--input-type=module', '-e', script, image];
  return Number(execFileSync(process.execPath, program, { encoding: 'utf8' }));
}

/** The worker that opens the image. */
const COORDINATOR = 1;

for (const [clusters, most] of [
  [0, 0],
  [1, 1],
] as const) {
  test(`a small disk with ${clusters} clusters of data starts ${most} workers beside the coordinator`, () => {
    const [raw, image] = [join(folder, `raw${clusters}`), join(folder, `clusters${clusters}`)];
    const disk = Buffer.alloc(1 << 20);
    disk.fill(1, 0, clusters << 16);
    writeFileSync(raw, disk);
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, image);
    expect(workersFor(image)).toBe(COORDINATOR + most);
  });
}
