// Refuses an output that the command reads.

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
 * Fails with `usage` if `output` is one of the files `read`, or a device backed by one of them. Each is a path, or `-`.
 */
export async function requireOtherFiles(output: string, read: string[]): Promise<void> {
  const found = await find(output, STANDARD_OUTPUT, STDOUT);
  if (!found) return;
  for (const path of read) {
    const file = await find(path, STANDARD_INPUT, STDIN);
    // Terminals and devices such as /dev/null can be both.
    const holdsContent = file?.isFile() || file?.isBlockDevice();
    if (!file || !holdsContent || !(await overlap(found, file))) continue;
    const [to, from] = [name(output, 'Standard output'), name(path, 'the file of standard input')];
    throw new DecantError('usage', `${to} is ${from}, an input of the command; choose another output`);
  }
}

/** Resolves to the stats of `path`, or of `fd` if `path` is `standard`; `undefined` if they cannot be read. */
const find = (path: string, standard: string, fd: number) => {
  const found = path === standard ? promisify(fstat)(fd, { bigint: true }) : stat(path, { bigint: true });
  // Ignored: opening the file will fail.
  return found.catch(() => undefined);
};

const name = (path: string, standard: string): string => (path === '-' ? standard : `'${path}'`);
