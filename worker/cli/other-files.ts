// An output must not be a file that the command reads.

import { fstat } from 'node:fs';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { DecantError } from '../errors/errors.js';
import { overlap } from '../targets/node/device.js';
import { STANDARD_INPUT } from './standard-input.js';
import { STANDARD_OUTPUT } from './standard-output.js';

const STDIN = 0;
const STDOUT = 1;

/**
 * Fails with `usage` if `output` is one of the files `read`, or a device whose content one of them holds. Each is a path, or
 * `-`.
 */
export async function requireOtherFiles(output: string, read: string[]): Promise<void> {
  const found = await find(output, STANDARD_OUTPUT, STDOUT);
  if (!found) return;
  for (const path of read) {
    const file = await find(path, STANDARD_INPUT, STDIN);
    // Many may read and write one terminal, or nothing at all.
    const holdsContent = file?.isFile() || file?.isBlockDevice();
    if (!file || !holdsContent || !(await overlap(found, file))) continue;
    const [to, from] = [name(output, 'Standard output'), name(path, 'the file of standard input')];
    throw new DecantError('usage', `${to} is ${from}, which is read; choose another output`);
  }
}

/** What `path` is, or what `fd` is where `path` is `standard`; undefined where that cannot be found out. */
const find = (path: string, standard: string, fd: number) => {
  const found = path === standard ? promisify(fstat)(fd, { bigint: true }) : stat(path, { bigint: true });
  // Whoever opens the file reports the failure.
  return found.catch(() => undefined);
};

const name = (path: string, standard: string): string => (path === '-' ? standard : `'${path}'`);
