// Block devices: loop devices, which need root.

import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asRoot, sudo } from './command.js';

/** A device of `size` bytes whose file is on a separate disk, in `folder`, with `room` bytes of space. */
export function makeDevice(folder: string, size: number, room: number): { path: string; remove(): void } {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${room},mode=777`, 'tmpfs', disk);
  try {
    writeFileSync(join(disk, 'file'), '');
    truncateSync(join(disk, 'file'), size);
    const path = asRoot('losetup', '--find', '--show', join(disk, 'file'));
    if (sudo.length > 0) asRoot('chmod', '666', path);
    const remove = () => {
      asRoot('losetup', '--detach', path);
      asRoot('umount', disk);
    };
    return { path, remove };
  } catch (thrown) {
    asRoot('umount', disk);
    throw thrown;
  }
}
