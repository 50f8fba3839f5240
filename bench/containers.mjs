// Compares a raw disk in gzip with programs that unpack it.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { gzipped } from './images.mjs';
import { alternate, OUT, perBuild, print, printRatios, timed } from './report.mjs';

const UNPACK = 'gzip -dc';

export async function containers() {
  const path = gzipped();
  execFileSync('cat', [path], { stdio: 'ignore' });
  print(`\n## a raw disk in gzip, ${(statSync(path).size / 1e6).toFixed(0)} MB`);
  const times = await alternate({
    [UNPACK]: () => timed('bash', '-ec', `${UNPACK} "$1" > "$2"`, 'bash', path, OUT).real,
    ...perBuild('Node', ({ command }) => timed(process.execPath, command, 'convert', path, OUT).real),
  });
  printRatios(times, UNPACK);
}
