// `npm run bench -- sweep`: how the cost of a conversion grows with the size of the disk, its data, extents, layers and workers.
// Writes docs/growth.svg. A curve that is neither straight nor flat shows a defect.

import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, say } from '../scripts/lib.mjs';
import { builds } from './arguments.mjs';
import { compressed, ofData, ofExtents, ofLayers, ofSize } from './growth-images.mjs';
import { growthPicture } from './growth-picture.mjs';
import { at } from './images.mjs';
import { OUT, print, sorted, table, timed } from './report.mjs';

const RUNS = 3;

/**
 * The command's own CPU seconds, the least of some runs. Elapsed times, and the kernel's CPU seconds, depend on what else the machine
 * does, and on how much memory it has for files.
 */
function cpuSeconds(...args) {
  const runs = Array.from({ length: RUNS }, () => {
    rmSync(OUT, { force: true });
    return timed(process.execPath, ...args, OUT).user;
  });
  rmSync(OUT, { force: true });
  return sorted(runs)[0];
}

const convert = (image, ...options) => [builds[0].command, 'convert', ...options, ...[image].flat()];

/** The messages between the calling side and its threads. */
function messages(image, ...options) {
  const counts = at('messages.txt');
  const counter = fileURLToPath(new URL('count-messages.mjs', import.meta.url));
  rmSync(OUT, { force: true });
  timed('env', `COUNT_MESSAGES=${counts}`, process.execPath, '--import', counter, ...convert(image, ...options), OUT);
  rmSync(OUT, { force: true });
  return Number(readFileSync(counts, 'utf8'));
}

/** Whether the disk has room for an output of this many MiB. */
function hasRoom(megabytes) {
  const { bavail, bsize } = statfsSync(at('.'));
  return bavail * bsize > (megabytes + 2048) * 2 ** 20;
}

const seconds = (values, image) => values.map((value) => [value, cpuSeconds(...convert(image(value)))]);

export function growth() {
  const curves = [];
  const add = (title, x, points, y = 'CPU s') => {
    curves.push({ title, x, y, points });
    print(`\n## ${title}`);
    table([x, y], points);
  };
  add('64 MiB of data', 'GiB of disk', seconds([1, 16, 128, 1024, 8192], ofSize));
  add('Data', 'MiB of data', seconds([1, 16, 64, 256, 1024, 4096, 16_384].filter(hasRoom), ofData));
  add('256 MiB in flat extents', 'extents', seconds([1, 10, 100, 1000], ofExtents));
  add('Backing files with 1 MiB each', 'layers', seconds([1, 4, 16, 64, 128], ofLayers));
  const workers = [1, 2, 4, 8, 16];
  const ofWorkers = (measure) => workers.map((count) => [count, measure(String(count))]);
  add(
    '256 MiB, zlib',
    'workers',
    ofWorkers((count) => cpuSeconds(...convert(compressed(), '-m', count))),
  );
  add(
    '256 MiB, zlib',
    'workers',
    ofWorkers((count) => messages(compressed(), '-m', count)),
    'messages',
  );
  writeFileSync(join(root, 'docs', 'growth.svg'), growthPicture(curves));
  say('wrote docs/growth.svg');
}
