// Compares the verification of an output with a conversion of that output to a target that ignores it.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builds, RUNS } from './arguments.mjs';
import { empty, image } from './images.mjs';
import { median, OUT, print, table } from './report.mjs';

const PROGRAM = fileURLToPath(new URL('verify-convert.mjs', import.meta.url));

/** The most that a verification may take, as a share of the conversion to nowhere. */
const MOST = 1.2;

export function verifying() {
  print('\n## Verifying (`verify`), Node, workers warm: seconds');
  const rows = [];
  for (const kind of ['zlib', 'uncompressed']) {
    for (const format of ['raw', 'qcow2', 'vmdk', 'raw.zst']) {
      for (const build of builds) {
        const args = [PROGRAM, build.package, empty('1M'), image(kind), OUT, format];
        const runs = Array.from({ length: RUNS }, () =>
          JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })),
        );
        const of = (name) => median(runs.map((run) => run[name]));
        const [converting, verifying, discarding] = ['converting', 'verifying', 'discarding'].map(of);
        const ratio = verifying / discarding;
        const seconds = [converting, verifying, discarding].map((value) => value.toFixed(2));
        rows.push([
          `${build.name}: ${kind} to ${format}`,
          ...seconds,
          `${ratio.toFixed(2)}${ratio > MOST ? ' (too slow)' : ''}`,
        ]);
      }
    }
  }
  table(['', 'conversion', 'verification', 'output to nowhere', 'ratio'], rows);
}
