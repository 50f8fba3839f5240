// Compares digests of disks with a conversion to a raw disk by qemu-img, which sha256sum then reads.

import { execFileSync } from 'node:child_process';
import { image } from './images.mjs';
import { alternate, OUT, perBuild, print, printRatios, timed } from './report.mjs';

const RIVAL = 'qemu-img convert -W and sha256sum';
const SCRIPT = 'qemu-img convert -W -O raw "$1" "$2" && sha256sum "$2"';

/** The SHA-256 of a disk, and the digest of fs-verity, in Node and Chromium. */
export async function digests(browser) {
  const path = image('zlib');
  execFileSync('cat', [path], { stdio: 'ignore' });
  print('\n## Digests of the disk of a zlib qcow2');
  const node =
    (...options) =>
    ({ command }) =>
      timed(process.execPath, command, 'digest', ...options, path).real;
  const runners = {
    [RIVAL]: () => timed('bash', '-c', SCRIPT, 'bash', path, OUT).real,
    ...perBuild('Node', node()),
    ...perBuild('Node, --tree', node('--tree')),
    ...perBuild('Chromium', (build) => browser.digest(build, path)),
  };
  printRatios(await alternate(runners), RIVAL);
}
