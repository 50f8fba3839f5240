// A sweep over properties of images and machines: a cell that is much slower than its neighbours reveals a cliff.

import { rmSync } from 'node:fs';
import { builds } from './arguments.mjs';
import { cell } from './images.mjs';
import { OUT, print, table, timed } from './report.mjs';

/** The disk of a cell, in MB. */
const DISK = 268;

export function sweep() {
  const beside = builds[1] ? `; in brackets, against ${builds[1].name}` : '';
  print(`\n## Sweep: Node, MB of disk a second, best of two runs, 256 MiB${beside}`);
  const workers = [1, 2, 4, 8];
  const rows = [];
  for (const kind of ['uncompressed', 'zlib', 'zstd']) {
    for (const share of [0, 50, 100]) {
      for (const cluster of ['4k', '64k', '2M']) {
        const path = cell(kind, share, cluster);
        const rate = (count) => {
          const run = ({ command }) => {
            rmSync(OUT, { force: true });
            return timed(process.execPath, command, 'convert', '-m', String(count), path, OUT).real;
          };
          const rounds = [builds.map(run), builds.map(run)];
          const [ours, other] = builds.map((_, at) => DISK / Math.min(...rounds.map((times) => times[at])));
          return ours.toFixed(0) + (other ? ` (${(ours / other).toFixed(2)} ×)` : '');
        };
        rows.push([kind, `${share} %`, cluster, ...workers.map(rate)]);
      }
    }
  }
  table(['stored', 'data', 'clusters', ...workers.map((count) => `${count} workers`)], rows);
}
