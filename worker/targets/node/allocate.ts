// Blocks of the disk for a file without holes.

import { spawn } from 'node:child_process';
import { cancelled } from '../../errors/errors.js';

/**
 * Gives the file `fd` `size` bytes of zeros that take their blocks on the disk, by the program `fallocate` of util-linux. Resolves to
 * false if that is impossible: the program is missing, or the file system cannot do it or is full. Throws `cancelled`.
 */
export async function allocate(fd: number, size: number, signal: AbortSignal): Promise<boolean> {
  const isDone = await new Promise<boolean>((resolve) => {
    const child = spawn('fallocate', ['--length', String(size), '/proc/self/fd/3'], {
      stdio: ['ignore', 'ignore', 'ignore', fd],
      signal,
    });
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code === 0));
  });
  if (signal.aborted) throw cancelled();
  return isDone;
}
