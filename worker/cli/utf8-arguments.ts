// Checks that arguments are UTF-8. Node replaces other bytes, and the result would name another file.

import { readFile } from 'node:fs/promises';
import { DecantError } from '../errors/errors.js';

const REPLACEMENT = '\uFFFD';
const SEPARATOR = '\0';

/** Returns the last `count` arguments of this process as Latin-1; `undefined` if the system does not show them. */
async function readArguments(count: number): Promise<string[] | undefined> {
  const all = await readFile('/proc/self/cmdline', 'latin1').catch(() => undefined);
  return all?.split(SEPARATOR).slice(0, -1).slice(-count);
}

/** Fails with `usage` if an argument of this process is not UTF-8, or cannot be checked. */
export async function requireText(argv: string[]): Promise<void> {
  if (!argv.some((argument) => argument.includes(REPLACEMENT))) return;
  const bytes = await readArguments(argv.length);
  const unlike = argv.find((argument, at) => {
    return argument.includes(REPLACEMENT) && Buffer.from(argument).toString('latin1') !== bytes?.[at];
  });
  if (unlike === undefined) return;
  throw new DecantError('usage', `'${unlike}' is not UTF-8; rename the file, or make a link with another name`);
}
