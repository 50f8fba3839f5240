// A sweep over what images and machines differ in: a cliff shows where a cell is much slower than its neighbours.

import { rmSync } from 'node:fs';
import { cell } from './images.mjs';
import { CLI, OUT, print, table, timed } from './report.mjs';

/** The disk of a cell, in MB. */
const DISK = 268;

export function sweep() {
  print('\n## Sweep: Node, MB of disk a second, best of two runs, 256 MiB');
  const workers = [1, 2, 4, 8];
  const rows = [];
  for (const kind of ['uncompressed', 'zlib', 'zstd']) {
    for (const share of [0, 50, 100]) {
      for (const cluster of ['4k', '64k', '2M']) {
        const path = cell(kind, share, cluster);
        const rate = (count) => {
          const run = () => {
            rmSync(OUT, { force: true });
            return timed(process.execPath, CLI, 'convert', '-m', String(count), path, OUT).real;
          };
          return (DISK / Math.min(run(), run())).toFixed(0);
        };
        rows.push([kind, `${share} %`, cluster, ...workers.map(rate)]);
      }
    }
  }
  table(['stored', 'data', 'clusters', ...workers.map((count) => `${count} workers`)], rows);
}
