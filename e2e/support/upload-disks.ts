// Disks for tests of uploads, whose sizes follow from those of parts: 8 MiB for S3, 16 MiB for Google and tus.

import { createCipheriv } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { qemuImg } from './images.js';

const MIB = 1 << 20;

/** Noise that follows from a seed. */
function noise(length: number, seed: number): Buffer {
  const key = Buffer.alloc(16, seed);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** A raw disk: a MiB of data in each 3 MiB, and zeros between; its last sector has data. */
export function rawDisk(size: number, seed = 1): Buffer {
  const disk = Buffer.alloc(size);
  for (let at = 0; at < size; at += 3 * MIB) noise(Math.min(MIB, size - at), seed + at / MIB).copy(disk, at);
  noise(512, seed).copy(disk, size - 512);
  return disk;
}

/** Writes `disk` as a qcow2 into `folder`; returns its path. */
export function qcow2Of(disk: Buffer, folder: string, name = 'disk'): string {
  const raw = join(folder, `${name}.raw`);
  const path = join(folder, `${name}.qcow2`);
  writeFileSync(raw, disk);
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, path);
  return path;
}

/** Whether `object` is `disk`, as a VHD with zeros up to a whole cylinder and a footer. */
export function isDisk(object: Buffer | undefined, disk: Buffer, format = 'raw'): boolean {
  if (!object?.subarray(0, disk.length).equals(disk)) return false;
  const rest = object.subarray(disk.length);
  if (format === 'raw') return rest.length === 0;
  return (
    rest.subarray(0, -512).every((byte) => byte === 0) && rest.subarray(-512).toString('latin1', 0, 8) === 'conectix'
  );
}
