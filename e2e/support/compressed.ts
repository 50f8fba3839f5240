// A small compressed image, independent of the size of the disk that most tests convert.

import { writeFileSync } from 'node:fs';
import { qemuImg } from './images.js';
import { random } from './random.js';

/** Makes a compressed qcow2 of 4 MiB at `path`. */
export function makeCompressed(path: string): void {
  const byte = random(1);
  const disk = Buffer.alloc(4 << 20, 1);
  // Half of each KiB is noise, so that clusters are compressed, but not to almost nothing.
  for (let at = 0; at < disk.length; at += 1) if (at % 1024 < 512) disk[at] = byte() * 256;
  writeFileSync(`${path}.raw`, disk);
  qemuImg('convert', '-c', '-f', 'raw', '-O', 'qcow2', `${path}.raw`, path);
}
