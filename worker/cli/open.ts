// Opens an image as the arguments say.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { cancelled } from '../errors.js';
import { type Image, open } from '../node.js';
import { fileError } from '../routes/file-error.js';
import type { Companion } from '../types.js';
import type { Opening } from './arguments.js';

export async function openImage(path: string, opening: Opening, signal: AbortSignal): Promise<Image> {
  const { format, companions, snapshot, passwordFile, assumePassword, salvage } = opening;
  const password = passwordFile === undefined ? undefined : await readPassword(passwordFile, signal);
  return open(path, {
    signal,
    companions: companions.map(companionOf),
    assumePassword,
    salvage,
    ...(format === undefined ? {} : { format }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(password === undefined ? {} : { password }),
  });
}

/** FILE or NAME=FILE. Both may have an equals sign: what exists as a file is FILE. */
function companionOf(argument: string): Companion {
  if (existsSync(argument)) return argument;
  for (let at = argument.indexOf('='); at >= 0; at = argument.indexOf('=', at + 1)) {
    const file = argument.slice(at + 1);
    if (existsSync(file)) return { name: argument.slice(0, at), source: file };
  }
  // To be told that it is missing.
  const at = argument.indexOf('=');
  return at < 0 ? argument : { name: argument.slice(0, at), source: argument.slice(at + 1) };
}

/** The content of a file or of standard input, without the line end that an editor or `echo` adds. */
async function readPassword(path: string, signal: AbortSignal): Promise<string> {
  try {
    const bytes = await (path === '-' ? buffer(addAbortSignal(signal, process.stdin)) : readFile(path, { signal }));
    return bytes.toString('utf8').replace(/\r?\n$/, '');
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw fileError(thrown, 'source', `read the password from '${path}'`);
  }
}
