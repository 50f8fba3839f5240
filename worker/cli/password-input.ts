// Reads the passwords of encrypted layers from files, pipes, terminals or standard input.

import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import type { HeaderInfo, Layer, Member } from '../public/types.js';
import { namedFile } from './named-file.js';
import { readSecret } from './secret-file.js';
import { STANDARD_INPUT } from './standard-input.js';

/** Removes the line end that an editor or `echo` adds. */
function withoutLineEnd(bytes: Buffer): Uint8Array {
  const text = bytes.toString('latin1');
  return bytes.subarray(0, text.replace(/\r?\n$/, '').length);
}

/** Reads the file without its last line end. Fails with `cancelled` when `signal` is aborted. */
async function readPassword(path: string, signal: AbortSignal): Promise<Uint8Array> {
  return withoutLineEnd(await readSecret(path, 'the password', signal));
}

const usage = (message: string) => new DecantError('usage', message);

/** Passwords by names of layers or disks, with or without folders. The one under `undefined` is for all other layers. */
class PasswordsByName {
  constructor(private readonly byName: Map<string | undefined, Uint8Array>) {}

  get isEmpty(): boolean {
    return this.byName.size === 0;
  }

  /** The password of the layer; `disk` is the name of its disk, if that is one of an archive or a machine. */
  of({ name }: Layer, disk: string | undefined): Uint8Array | undefined {
    const names = disk === undefined ? [name] : [name, disk];
    const found = names.flatMap((name) => [name, basename(name)]).find((name) => this.byName.has(name));
    return this.byName.get(found);
  }

  /** Fails with `usage` if a password is for a layer that the image does not have, or that is not encrypted. */
  check({ layers, needs }: HeaderInfo, disks: readonly Member[]): void {
    // Missing files and other disks may have these layers.
    if (disks.length > 1 || needs.some(({ kind }) => kind === 'missing-file')) return;
    const encrypted = layers.filter(({ encryption }) => encryption !== undefined).map(({ name }) => name);
    const names = encrypted.length > 0 ? [...encrypted, ...disks.map(({ name }) => name)] : [];
    for (const name of this.byName.keys()) {
      if (name === undefined || names.some((one) => one === name || basename(one) === name)) continue;
      const list = encrypted.map((one) => `'${shownText(one)}'`).join(', ');
      const those = encrypted.length > 0 ? `encrypted are ${list}` : 'none is encrypted';
      throw usage(`There is no encrypted layer '${shownText(name)}'; ${those}`);
    }
  }
}

/** Parses FILE or NAME=FILE, where NAME is a layer or a disk. */
export const passwordFile = (argument: string) =>
  namedFile(argument, (path) => path === STANDARD_INPUT || existsSync(path));

/**
 * Reads passwords from the files in `list`: FILE for all layers, NAME=FILE for one. Fails with `usage` if two of them, or one
 * and `input`, are standard input.
 */
export async function readPasswords(
  list: string[],
  input: string | undefined,
  signal: AbortSignal,
): Promise<PasswordsByName> {
  const files = new Map<string | undefined, string>();
  for (const argument of list) {
    const { name, file } = passwordFile(argument);
    if (files.has(name)) {
      const layers = name === undefined ? 'all layers' : `'${shownText(name)}'`;
      throw usage(`--password-file is given twice for ${layers}`);
    }
    files.set(name, file);
  }
  const fromInput = [...files.values()].filter((file) => file === STANDARD_INPUT).length;
  if (input !== undefined && fromInput > 0) {
    throw usage(`Standard input is already ${input}; put the password into a file`);
  }
  if (fromInput > 1) {
    throw usage('Standard input can have only one password; put the others into files');
  }
  const byName = new Map<string | undefined, Uint8Array>();
  for (const [name, file] of files) byName.set(name, await readPassword(file, signal));
  return new PasswordsByName(byName);
}
