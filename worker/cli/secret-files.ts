// Reads passwords and headers from files, pipes, terminals or standard input, since other users of a machine can see arguments.

import { close, constants, createReadStream, existsSync, fstat, open } from 'node:fs';
import { Socket } from 'node:net';
import { basename } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import { promisify } from 'node:util';
import { cancelled, DecantError } from '../errors/errors.js';
import { fileError } from '../errors/file-error.js';
import { shownText } from '../errors/shown.js';
import { haveSameOrigin } from '../http/address.js';
import type { DiskMember, HeaderInfo, Layer } from '../public/types.js';
import { namedFile, shownInput } from './operands.js';
import { STANDARD_INPUT } from './standard-streams.js';

/** The maximum size of a file, in bytes. */
const MOST = 1 << 20;

/** Opens a file, pipe or terminal. Does not block on a pipe without a writer, so that waiting can be cancelled. */
async function openStream(path: string): Promise<Readable> {
  const fd = await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if ((await promisify(fstat)(fd)).isFIFO()) return new Socket({ fd, readable: true, writable: false });
    return isatty(fd) ? new ReadStream(fd) : createReadStream(path, { fd });
  } catch (thrown) {
    await promisify(close)(fd);
    throw thrown;
  }
}

/**
 * Reads the file; errors call its content `what`. Fails with `usage` if it has more than 1 MiB, and with `cancelled` when
 * `signal` is aborted.
 */
export async function readSecret(
  path: string,
  what: 'the password' | 'the headers',
  signal: AbortSignal,
): Promise<Buffer> {
  try {
    const stream = path === STANDARD_INPUT ? process.stdin : await openStream(path);
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of addAbortSignal(signal, stream)) {
      parts.push(part);
      size += part.length;
      if (size > MOST) throw tooLarge(path, what);
    }
    return Buffer.concat(parts);
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw fileError(thrown, 'source', `read ${what} from '${shownInput(path)}'`);
  }
}

function tooLarge(path: string, what: string): DecantError {
  const name = path === STANDARD_INPUT ? 'Standard input' : `'${shownInput(path)}'`;
  return new DecantError('usage', `${name} is too large for ${what}: more than ${MOST} bytes`);
}

/** Reads headers from `file`, one NAME: VALUE on each line. Fails with `usage` for an invalid line. */
export async function readHeaders(file: string | undefined, signal: AbortSignal): Promise<[string, string][]> {
  if (file === undefined) return [];
  const lines = (await readSecret(file, 'the headers', signal)).toString('utf8').split(/\r?\n/);
  return lines.flatMap((line, at): [string, string][] => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(line) ?? [];
    // The message omits the line, which may be a secret.
    if (name === undefined) throw new DecantError('usage', `Line ${at + 1} of '${file}' is not NAME: VALUE`);
    return [[name, value!.trim()]];
  });
}

/** Headers for the images of a command: for one server. */
export interface ImageHeaders {
  file: string;
  /** The first URL that is read. */
  url: string | undefined;
}

const read = new WeakMap<ImageHeaders, Promise<[string, string][]>>();

/** Reads the headers for images: once, since the file may be a pipe. */
export function imageHeaders(given: ImageHeaders, signal: AbortSignal): Promise<[string, string][]> {
  const headers = read.get(given) ?? readHeaders(given.file, signal);
  read.set(given, headers);
  return headers;
}

/** The headers for the file `url`: none if it is not on the server of the first URL. */
export const headersFor = async (
  url: string,
  given: ImageHeaders | undefined,
  signal: AbortSignal,
): Promise<[string, string][]> => (given && haveSameOrigin(url, given.url) ? imageHeaders(given, signal) : []);

/** The passwords that were read for each list of files. */
const passwords = new WeakMap<string[], Promise<PasswordsByName>>();

/** Like {@link readPasswords}, but reads the files of one `list` once: two images may have it, and a file may be a pipe. */
export function imagePasswords(list: string[], signal: AbortSignal): Promise<PasswordsByName> {
  const found = passwords.get(list) ?? readPasswords(list, signal);
  passwords.set(list, found);
  return found;
}

/** Removes the line end that an editor or `echo` adds. */
function withoutLineEnd(bytes: Buffer): Uint8Array {
  const text = bytes.toString('latin1');
  return bytes.subarray(0, text.replace(/\r?\n$/, '').length);
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
  check({ layers, needs }: HeaderInfo, disks: readonly DiskMember[]): void {
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

/** Reads passwords from the files in `list`: FILE for all layers, NAME=FILE for one. Fails with `usage` if two are for the same layers. */
export async function readPasswords(list: string[], signal: AbortSignal): Promise<PasswordsByName> {
  const files = new Map<string | undefined, string>();
  for (const argument of list) {
    const { name, file } = passwordFile(argument);
    if (files.has(name)) {
      const layers = name === undefined ? 'all layers' : `'${shownText(name)}'`;
      throw usage(`--password-file is given twice for ${layers}`);
    }
    files.set(name, file);
  }
  const byName = new Map<string | undefined, Uint8Array>();
  for (const [name, file] of files) byName.set(name, withoutLineEnd(await readSecret(file, 'the password', signal)));
  return new PasswordsByName(byName);
}
