// Arguments that name files and servers.

import { existsSync, type Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { localPath } from '../api/node-path.js';
import { DecantError } from '../errors/errors.js';
import { isAddress, shownAddress } from '../errors/secrets.js';

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

export interface NamedFile {
  name: string | undefined;
  file: string;
}

/** Parses FILE or NAME=FILE. Both may contain equals signs: an existing file or a URL is FILE. */
export function namedFile(argument: string, exists: (file: string) => boolean = existsSync): NamedFile {
  const { name, file } = split(argument, exists);
  return { name, file: localPath(file) };
}

/** The files of arguments FILE or NAME=FILE. */
export const filesOf = (given: readonly string[]): string[] => given.map((argument) => namedFile(argument).file);

function split(argument: string, exists: (file: string) => boolean): NamedFile {
  const isFile = (file: string) => isAddress(file) || exists(file);
  if (isFile(argument)) return { name: undefined, file: argument };
  const splitAt = (at: number): NamedFile => ({ name: argument.slice(0, at), file: argument.slice(at + 1) });
  for (let at = argument.indexOf('='); at >= 0; at = argument.indexOf('=', at + 1)) {
    const named = splitAt(at);
    if (isFile(named.file)) return named;
  }
  // No such file: opening it will fail.
  const first = argument.indexOf('=');
  return first < 0 ? { name: undefined, file: argument } : splitAt(first);
}

/** Returns `argument` for messages: a URL without its secrets. */
export const shownInput = (argument: string): string => (isAddress(argument) ? shownAddress(argument) : argument);

/** Resolves to what the system knows about the file at `path`; `undefined` if it cannot be examined: opening the file reports why. */
export const statsOf = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);
