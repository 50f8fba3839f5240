// A file of headers for a server: tokens, which other users of a machine must not see.

import { DecantError } from '../errors/errors.js';
import { readSecret } from './secret-file.js';

/** The headers in `file`, if there is one: a line for each, NAME: VALUE. Fails with `usage` where one is not. */
export async function readHeaders(file: string | undefined, signal: AbortSignal): Promise<[string, string][]> {
  if (file === undefined) return [];
  const lines = (await readSecret(file, 'the headers', signal)).toString('utf8').split(/\r?\n/);
  return lines.flatMap((line, at): [string, string][] => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(line) ?? [];
    // The line itself may be a secret.
    if (name === undefined) throw new DecantError('usage', `Line ${at + 1} of '${file}' is no NAME: VALUE`);
    return [[name, value!.trim()]];
  });
}
