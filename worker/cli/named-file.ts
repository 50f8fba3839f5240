// Arguments of the form FILE or NAME=FILE.

import { existsSync } from 'node:fs';
import { localPath } from '../api/node-path.js';
import { isAddress } from '../errors/secrets.js';

export interface NamedFile {
  name: string | undefined;
  file: string;
}

/** Parses FILE or NAME=FILE. Both may contain equals signs: an existing file or a URL is FILE. */
export function namedFile(argument: string, exists: (file: string) => boolean = existsSync): NamedFile {
  const { name, file } = split(argument, exists);
  return { name, file: localPath(file) };
}

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
