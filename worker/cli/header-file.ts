// Reads headers from files, since other users of a machine can see arguments.

import { DecantError } from '../errors/errors.js';
import { readSecret } from './secret-file.js';

/** Reads headers from `file`, one NAME: VALUE on each line. Fails with `usage` for an invalid line. */
export async function readHeaders(file: string | undefined, signal: AbortSignal): Promise<[string, string][]> {
  if (file === undefined) return [];
  const lines = (await readSecret(file, 'the headers', signal)).toString('utf8').split(/\r?\n/);
  return lines.flatMap((line, at): [string, string][] => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(line) ?? [];
    // Without the line, which may be a secret.
    if (name === undefined) throw new DecantError('usage', `Line ${at + 1} of '${file}' is not NAME: VALUE`);
    return [[name, value!.trim()]];
  });
}

interface HeaderArguments {
  headerFile: string | undefined;
}

const read = new WeakMap<HeaderArguments, Promise<[string, string][]>>();

/** Reads the headers for the image: once, since the file may be a pipe. */
export function imageHeaders(opening: HeaderArguments, signal: AbortSignal): Promise<[string, string][]> {
  const headers = read.get(opening) ?? readHeaders(opening.headerFile, signal);
  read.set(opening, headers);
  return headers;
}
