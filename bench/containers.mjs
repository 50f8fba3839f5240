// Compares compressed raw disks with programs that unpack them.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { quick } from './arguments.mjs';
import { packed } from './images.mjs';
import { alternate, OUT, perBuild, print, printRatios, timed } from './report.mjs';

// (name, how it is packed, how it is unpacked)
const FILES = [
  ['gzip', 'gzip -nc', 'gzip -dc'],
  ['xz in blocks', 'xz -1cT2', 'xz -dcT0'],
  ['xz in one block', 'xz -1cT1', 'xz -dcT1'],
  ['zstd in one frame', 'zstd -qc', 'zstd -qdc'],
  ['zstd in frames', 'pzstd -qc -p2', 'zstd -qdc'],
  ['bzip2', 'bzip2 -c', 'bzip2 -dc'],
];

export async function containers() {
  for (const [name, pack, unpack] of quick ? FILES.slice(0, 1) : FILES) {
    const path = packed(`${name.replaceAll(' ', '-')}.packed`, pack);
    execFileSync('cat', [path], { stdio: 'ignore' });
    print(`\n## a raw disk, ${name}, ${(statSync(path).size / 1e6).toFixed(0)} MB`);
    const times = await alternate({
      [unpack]: () => timed('bash', '-ec', `${unpack} "$1" > "$2"`, 'bash', path, OUT).real,
      ...perBuild('Node', ({ command }) => timed(process.execPath, command, 'convert', path, OUT).real),
    });
    printRatios(times, unpack);
  }
}
