// Opens a disk of a virtual machine, whose configuration was passed together with the files of its disks.

import { isObject } from '../calls/values.js';
import { DecantError, type Member, toDecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { shownNames } from '../errors/shown-names.js';
import { haveSameOrigin } from '../http/http-url.js';
import type { Companion, Input, OpenOptions } from '../public/caller-types.js';
import type { Snapshot } from '../public/types.js';
import type { Capacity } from '../worker-side/coordinator-methods.js';
import { checkCapacity } from './capacity.js';
import { encryptedError } from './encryption-marks.js';
import type { OpenImage } from './image.js';
import { type Machine, type MachineSnapshot, machineOf, snapshotsOf } from './machine-config.js';

/** The most bytes of a configuration. */
const LONGEST = 1 << 20;
/** The most names in an error message. */
const LISTED = 3;

type Open = (input: Input, options: OpenOptions) => Promise<OpenImage>;

/** What follows the name of a file in its first piece, and in every piece. */
const FIRST_PIECE = '.000000000';
const PIECE = /\.(\d{9})$/;

/** A disk of a machine; without a companion if its file is missing. */
interface Disk extends Member {
  /** The file, or its first piece. */
  companion?: Companion;
  /** The name of the first piece that is missing, if others are there. */
  missingPiece?: string;
  /** Whether the configuration says that it is encrypted. */
  isEncrypted?: boolean;
  capacity?: Capacity | undefined;
}

/** A disk whose file was passed. */
type ThereDisk = Disk & { companion: Companion };

/**
 * Opens the disk that `options` state, or the only one, of the machine whose configuration in `format` is `config`, by `open`, in
 * its current state or that of a snapshot.
 * `config` was refused with `refusal`, which is thrown if it names no disks.
 *
 * Fails with `missing-file` if the file of the disk, or all files, are missing, with `usage` if there are several disks and none
 * is stated, if the stated one does not exist, or if a file is ambiguous; and as `open` does.
 */
export async function openMachine(
  config: Input,
  options: OpenOptions,
  refusal: DecantError,
  open: Open,
): Promise<OpenImage> {
  const { companions = [], disk: choice, snapshot, name, headers, ...rest } = options;
  const text = await textOf(config, config, options, open);
  const format = refusal.fields.format as 'vmx' | 'vbox' | 'ovf';
  const read = text === undefined ? undefined : machineOf(text, format);
  if (read?.isEncrypted && read.disks.length === 0) throw encryptedError('The virtual machine', format);
  if (!read || read.disks.length === 0) throw refusal;
  const configName = nameOf(config) || (name ?? '');
  const snapshots = format === 'vmx' ? await listedSnapshots(config, configName, options, open) : read.snapshots;
  // Without snapshots of the machine, it is one of the image.
  const isOfMachine = snapshot !== undefined && snapshots.length > 0;
  const machine = { ...read, snapshots, disks: isOfMachine ? stateOf(snapshots, snapshot).disks : read.disks };
  const disks: Disk[] = [];
  // The paths of an OVF descriptor are URLs.
  const plain = format === 'ovf' ? unencoded : (path: string) => path;
  for (const { path, companion } of findDisks(machine, configName, companions, plain)) {
    const pieces = machine.pieces?.get(path);
    const disk = companion
      ? await described(companion, pieces, config, options, open)
      : missingDisk(pieces === undefined ? plain(path) : plain(path) + FIRST_PIECE);
    const isEncrypted = machine.encrypted?.has(path) ?? false;
    disks.push({ ...disk, isEncrypted, capacity: machine.capacities?.get(path) });
  }
  const { companion, name: chosen, isEncrypted, capacity } = choose(disks, machine, configName, choice);
  if (isEncrypted) throw encryptedError(`'${shownText(chosen)}'`, format, { file: chosen });
  const input = inputOf(companion);
  const file = nameOf(companion);
  const image = await open(input, {
    ...rest,
    ...(snapshot !== undefined && !isOfMachine && { snapshot }),
    ...(headers && haveSameOrigin(input, config) && { headers }),
    // By the name of the first piece, the others are found.
    name: name === undefined || file.endsWith(FIRST_PIECE) ? file : name,
    companions: companions.filter((other) => other !== companion),
  });
  image.info.unusedCompanions = [];
  if (machine.name !== undefined) image.info.machine = machine.name;
  if (snapshots.length > 0) image.info.snapshots = snapshots.map(describedSnapshot);
  image.members = disks.map(memberOf);
  checkCapacity(image.info, capacity);
  return image;
}

/** The snapshots that the VMSD of the VMX `config`, called `name`, lists; none without that file. */
async function listedSnapshots(
  config: Input,
  name: string,
  options: OpenOptions,
  open: Open,
): Promise<MachineSnapshot[]> {
  const wanted = foldedName(name).replace(/x$/, 'sd');
  const list = options.companions?.find((companion) => foldedName(nameOf(companion)) === wanted);
  const text = list && (await textOf(inputOf(list), config, options, open));
  return text === undefined ? [] : snapshotsOf(text);
}

/** The only snapshot that `wanted` states, by its ID or its name. */
function stateOf(snapshots: MachineSnapshot[], wanted: string): MachineSnapshot {
  const byId = snapshots.filter(({ id }) => id === wanted);
  const found = byId.length > 0 ? byId : snapshots.filter(({ name }) => name === wanted);
  if (found.length === 1) return found[0]!;
  const known = shownNames(
    snapshots.map(({ id, name }) => `${name} (${id})`),
    LISTED,
  );
  const which = found.length === 0 ? 'no snapshot' : 'several snapshots';
  throw new DecantError('usage', `The virtual machine has ${which} '${shownText(wanted)}'; it has ${known}`);
}

/** A snapshot of a machine as those of images are described. Only images record its other times and sizes. */
const describedSnapshot = ({ disks: _, ...snapshot }: MachineSnapshot): Snapshot => ({
  ...snapshot,
  dateNanoseconds: 0,
  vmClockNanoseconds: 0,
  vmStateSize: 0,
});

/** The text of `file`; `undefined` if it is too long, or cannot be read again, such as a stream. */
async function textOf(file: Input, config: Input, options: OpenOptions, open: Open): Promise<string | undefined> {
  const opened = await open(file, { ...plainOptions(file, config, options), format: 'raw' }).catch((thrown) => {
    if (toDecantError(thrown).kind === 'cancelled') throw thrown;
  });
  if (!opened) return undefined;
  try {
    const { fileSize = 0 } = opened.info;
    if (fileSize > LONGEST) return undefined;
    return decoded((await opened.read(0, fileSize)).subarray(0, fileSize));
  } finally {
    await opened.close();
  }
}

/** Decodes a text in UTF-8, in UTF-16 with a byte order mark, or in the code page of Windows that VMware uses most. */
function decoded(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

const inputOf = (companion: Companion): Input => (isNamed(companion) ? companion.source : companion);

const isNamed = (companion: Companion): companion is { name: string; source: Input } =>
  isObject(companion) && 'source' in companion;

/** The name or path of a file; empty if it has none. */
function nameOf(file: Companion): string {
  if (typeof file === 'string') return file;
  if (file instanceof URL) return file.pathname;
  return 'name' in file && typeof file.name === 'string' ? file.name : '';
}

const baseName = (path: string): string => path.replace(/^.*[\\/]/, '');

/** The components of `path`, relative to the folder of the file `from`, joined by `/`. */
function resolved(path: string, from: string): string {
  const isAbsolute = /^(?:[\\/]|[a-z]:)/i.test(path);
  const parts = [...(isAbsolute ? [] : from.split(/[\\/]/).slice(0, -1)), ...path.split(/[\\/]/)];
  const plain: string[] = [];
  for (const part of parts) {
    if (part === '..' && plain.length > 0 && plain.at(-1) !== '..') plain.pop();
    else if (part !== '.') plain.push(part);
  }
  return plain.join('/');
}

/** Decodes `path` if it is a valid URL. */
function unencoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Finds the files of the disks, or their first pieces, by their paths, as they are or as `plain` returns them, otherwise by the last
 * parts of their paths, in any case if need be.
 */
function findDisks(
  machine: Machine,
  config: string,
  companions: Companion[],
  plain: (path: string) => string,
): { path: string; companion: Companion | undefined }[] {
  const byPath = new Map(machine.disks.map((path) => [resolved(path, config), path]));
  const paths = [...byPath.values()];
  const find = (path: string, end: string): Companion | undefined => {
    const having = (key: (name: string, from: string) => string) => {
      const wanted = [path, plain(path)].map((path) => key(path + end, config));
      return companions.filter((companion) => nameOf(companion) !== '' && wanted.includes(key(nameOf(companion), '')));
    };
    const exact = having(resolved);
    if (exact.length === 1) return exact[0];
    const found = [exact, having(baseName), having(foldedName)].find((found) => found.length > 0) ?? [];
    const namesakes = paths.filter((other) => foldedName(other) === foldedName(path));
    if (found.length > 1 || (found.length === 1 && namesakes.length > 1)) throw ambiguous(path + end, found.length);
    return found[0];
  };
  return paths.map((path) => ({ path, companion: find(path, '') ?? find(path, FIRST_PIECE) }));
}

const foldedName = (path: string): string => baseName(path).normalize('NFC').toLowerCase();

/** The error for a disk whose file is unclear: `files` have its name, or one has the name of several disks. */
function ambiguous(path: string, files: number): DecantError {
  const what = files > 1 ? 'more than one of the files' : 'a file that matches another disk too';
  const message = `'${shownText(path)}', a disk of the virtual machine, matches ${what}`;
  return new DecantError('usage', message, { code: 'ambiguous-file', fields: { file: baseName(path) } });
}

const missingDisk = (path: string): Disk => ({ name: baseName(path), size: 0, missing: true });

/** Describes the disk in the file `companion`, which is the first of `count` pieces if the disk is stored in pieces. */
async function described(
  companion: Companion,
  count: number | undefined,
  config: Input,
  options: OpenOptions,
  open: Open,
): Promise<Disk> {
  const name = baseName(nameOf(companion));
  const input = inputOf(companion);
  const plain = plainOptions(input, config, options);
  const companions = piecesOf(name, options.companions ?? []);
  const missingPiece = missingOf(name, companions, count ?? 0);
  // Opening a damaged disk reports the damage.
  const image = await open(input, { ...plain, name, companions }).catch(() => undefined);
  const file = image ?? (await open(input, { ...plain, format: 'raw' }));
  await file.close();
  const format = image?.info.format;
  return {
    name,
    size: file.info.fileSize ?? 0,
    ...(format === undefined ? {} : { format }),
    companion,
    ...(missingPiece === undefined ? {} : { missingPiece }),
  };
}

/** Returns the companions that continue the disk whose first piece is called `first`; none if `first` is a whole file. */
function piecesOf(first: string, companions: Companion[]): Companion[] {
  if (!first.endsWith(FIRST_PIECE)) return [];
  const whole = first.replace(PIECE, '');
  return companions.filter((companion) => {
    const name = baseName(nameOf(companion));
    return name !== first && PIECE.test(name) && name.replace(PIECE, '') === whole;
  });
}

/** Returns the name of the first missing piece of `count`; undefined if all are there: the one called `first`, and `others`. */
function missingOf(first: string, others: Companion[], count: number): string | undefined {
  if (!first.endsWith(FIRST_PIECE)) return undefined;
  const names = new Set(others.map((other) => baseName(nameOf(other))));
  const name = (number: number) => first.replace(PIECE, `.${String(number).padStart(FIRST_PIECE.length - 1, '0')}`);
  let next = 1;
  while (next < count && names.has(name(next))) next++;
  return next < count ? name(next) : undefined;
}

/** The options that concern reading `file`, not the image in it. Headers are sent only to the origin of `config`. */
function plainOptions(file: Input, config: Input, options: OpenOptions): OpenOptions {
  const { signal, fetch, allowUrl, onWaiting, limit, headers } = options;
  return {
    ...(headers && haveSameOrigin(file, config) && { headers }),
    ...(signal && { signal }),
    ...(fetch && { fetch }),
    ...(allowUrl && { allowUrl }),
    ...(onWaiting && { onWaiting }),
    ...(limit && { limit }),
  };
}

const memberOf = ({
  companion: _,
  missingPiece: _piece,
  isEncrypted: _encrypted,
  capacity: _capacity,
  ...member
}: Disk): Member => member;

/** Returns the disk that `choice` states, or the only one, whose file is there. */
function choose(disks: Disk[], machine: Machine, config: string, choice: string | number | undefined): ThereDisk {
  const fields = {
    disks: disks.map(memberOf),
    ...(machine.name === undefined ? {} : { machine: machine.name }),
    ...(machine.snapshots.length === 0 ? {} : { snapshots: machine.snapshots.map(describedSnapshot) }),
  };
  if (choice === undefined && disks.length > 1 && disks.some(({ companion }) => companion)) {
    const message = `The virtual machine has ${disks.length} disk images, ${listed(disks)}; state which one`;
    throw new DecantError('usage', message, { code: 'several-images', fields: { count: disks.length, ...fields } });
  }
  const [disk, ...others] = disks.filter(
    ({ name }, at) => choice === undefined || choice === at + 1 || choice === name,
  );
  if (choice !== undefined && (!disk || others.length > 0)) {
    const message = `The virtual machine has no disk ${shownText(String(choice))}, or several; it has ${listed(disks)}`;
    throw new DecantError('usage', message, { code: 'no-such-disk', fields });
  }
  const { companion, name, missingPiece } = disk!;
  if (missingPiece !== undefined) {
    const message = `'${shownText(missingPiece)}', a part of a disk of the virtual machine, is missing; pass all parts together with the configuration`;
    throw new DecantError('missing-file', message, { fields: { file: missingPiece, role: 'part', neededBy: name } });
  }
  if (companion) return { ...disk!, companion };
  const message = `'${shownText(name)}', a disk of the virtual machine, is missing; pass it together with its configuration`;
  throw new DecantError('missing-file', message, { fields: { file: name, role: 'disk', neededBy: config, ...fields } });
}

/** The names of `disks` and of the missing ones, for messages. */
function listed(disks: Disk[]): string {
  const named = (some: Disk[]) =>
    shownNames(
      some.map(({ name }) => name),
      LISTED,
    );
  const missing = disks.filter(({ companion }) => !companion);
  const lacks = missing.length === 0 ? '' : ` (${named(missing)} ${missing.length === 1 ? 'is' : 'are'} missing)`;
  return `${named(disks)}${lacks}`;
}
