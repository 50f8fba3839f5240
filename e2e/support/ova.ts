// An OVA with a manifest.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Makes an OVA in `folder` of the file `disk`, and a manifest with its SHA-256 `digest`. Returns its path. */
export function ova(folder: string, disk: string, digest: string): string {
  writeFileSync(join(folder, 'a.ovf'), '<xml/>');
  writeFileSync(join(folder, 'a.mf'), `SHA256(${basename(disk)})= ${digest}\n`);
  const members = ['a.ovf', 'a.mf', '-C', dirname(disk), basename(disk)];
  execFileSync('tar', ['--format=ustar', '-cf', 'a.ova', ...members], { cwd: folder });
  return join(folder, 'a.ova');
}
