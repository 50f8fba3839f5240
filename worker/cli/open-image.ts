// Opens an image by the arguments.

import { basename, dirname, join } from 'node:path';
import { localPath } from '../api/node-path.js';
import { DecantError, type Fields } from '../errors/errors.js';
import { isAddress } from '../errors/secrets.js';
import { isHttp } from '../http/address.js';
import type { Waiting } from '../http/http-types.js';
import {
  type AnyImage,
  type DiskMember,
  httpSource,
  type Input,
  type OpenOptions,
  open,
  type Progress,
  RequestLimit,
  splitFiles,
} from '../node.js';
import { CONTAINERS } from '../public/registry.js';
import type { Companion } from '../public/types.node.js';
import type { OpenArguments } from './arguments.js';
import type { Disks } from './failure-text.js';
import { filesBeside, filesIn, MACHINE, machineIn } from './files-beside.js';
import { namedFile } from './operands.js';
import { headersFor, imageHeaders, imagePasswords } from './secret-files.js';
import { STANDARD_INPUT, standardInput } from './standard-streams.js';
import { type Unpacking, windowOf } from './unpacking.js';

interface OpenContext {
  workers: number | undefined;
  onWaiting: (waiting: Waiting | undefined) => void;
  /** Missing if a packed image must not be unpacked. */
  unpacking?: Unpacking | undefined;
  signal: AbortSignal;
}

/** The result of opening an image: the image, or a question to the person, with the error that states it. */
export type Opened =
  | { image: AnyImage }
  /** One of several disks must be chosen. */
  | { choice: Disks; refusal: DecantError }
  /** It must be unpacked. The fields are those of the error `needs-spool`, or of `not-in-order` in a zip archive. */
  | { packed: Fields; refusal: DecantError };

/** Opens the image: `disk` if it is one of several in an archive. */
export type OpenDisk = (disk: string | number | undefined) => Promise<Opened>;

/** Returns the image. Throws the refusal if there is none. */
export function imageOf(opened: Opened): AnyImage {
  if ('image' in opened) return opened.image;
  throw opened.refusal;
}

/** Opens the image so that it lists all its disks. Fails if it has no list of disks. */
export async function openAll(open: OpenDisk): Promise<Opened> {
  const opened = await open(undefined);
  if (!('image' in opened)) return opened;
  const { image } = opened;
  const isFirstOnly = image.streamed && image.disks.length === 1;
  if (!isFirstOnly && image.disks.length > 0) return opened;
  // Once disk 1 is chosen, an archive that is read in order lists all disks, and an image without a list of disks fails.
  await image.close();
  return open(1);
}

/** Whether `thrown` says that the image, or the zip archive with the files of its disk, must be unpacked. */
export const mustBeUnpacked = (thrown: unknown): thrown is DecantError =>
  thrown instanceof DecantError &&
  (thrown.code === 'needs-spool' || (thrown.code === 'not-in-order' && thrown.fields.container === 'zip'));

/** Whether `thrown` says so, and what the image is. */
const isDescribed = (thrown: unknown): thrown is DecantError =>
  mustBeUnpacked(thrown) && thrown.fields.format !== undefined;

/** Opens `input`. `isPacked` decides which errors say that it must be unpacked. */
async function opened(
  input: Input,
  options: OpenOptions,
  isPacked: (thrown: unknown) => boolean = isDescribed,
): Promise<Opened> {
  try {
    return { image: await open(input, options) };
  } catch (thrown) {
    if (!(thrown instanceof DecantError)) throw thrown;
    const { kind, code, fields } = thrown;
    if (isPacked(thrown)) return { packed: fields, refusal: thrown };
    if (kind !== 'usage' || code !== 'several-images' || !fields.disks) throw thrown;
    return { choice: fields as unknown as Disks, refusal: thrown };
  }
}

/** Reads the passwords and headers of an image, which may come from pipes, and returns the function that opens it. */
export async function imageOpener(
  path: string,
  opening: OpenArguments,
  { workers, onWaiting, unpacking, signal }: OpenContext,
): Promise<OpenDisk> {
  const { format, companions, snapshot, passwordFiles, headers } = opening;
  const { assumePassword, salvage, forceParent, checkManifest, unpack } = opening;
  const isInput = path === STANDARD_INPUT;
  const passwords = await imagePasswords(passwordFiles, signal);
  const limit = new RequestLimit();
  // Fails now if they cannot be read, and no URL needs them.
  if (headers) await imageHeaders(headers, signal);
  /** Returns the argument, or its source with headers if it is a URL that gets some. */
  const inputOf = async (argument: string): Promise<Input> => {
    const ofServer = isHttp(argument) ? await headersFor(argument, headers, signal) : [];
    return ofServer.length === 0 ? argument : httpSource(argument, { signal, onWaiting, limit, headers: ofServer });
  };
  return async (disk) => {
    // A folder has no format.
    const image = isInput || format !== undefined ? path : await machineIn(path);
    const input = isInput ? await standardInput() : await inputOf(image);
    const given = await companionsOf(companions, inputOf);
    const named = companions.map((argument) => namedFile(argument));
    const names = named.map(({ name, file }) => basename(name ?? file));
    const beside = isInput ? [] : [...(await filesBeside(image, named)), ...(await partsBeside(image, names))];
    let name: string | undefined;
    const options: OpenOptions = {
      signal,
      onWaiting,
      limit,
      companions: [...given, ...beside],
      assumePassword,
      salvage,
      forceParent,
      ...(checkManifest ? { checkManifest } : {}),
      ...(unpack ? { unpack } : {}),
      ...(workers === undefined ? {} : { workers }),
      ...(format === undefined ? {} : { inputFormat: format }),
      ...(disk === undefined ? {} : { disk }),
      ...(snapshot === undefined ? {} : { snapshot }),
      ...(passwords.isEmpty ? {} : { password: (layer) => passwords.of(layer, name) }),
    };
    const read = [image, ...named.map(({ file }) => file), ...beside];
    // Standard input can be read only once.
    const result = await openOrUnpack(input, options, read, unpacking, isInput);
    if (!('image' in result)) return result;
    const { disks, info } = result.image;
    name = chosen(disks, disk)?.name;
    try {
      passwords.check(info, disks);
    } catch (thrown) {
      await result.image.close();
      throw thrown;
    }
    return result;
  };
}

/** Opens `input`, in place if possible, otherwise unpacks it. `isOnce`: it can be opened only once. */
async function openOrUnpack(
  input: Input,
  options: OpenOptions,
  read: string[],
  unpacking: Unpacking | undefined,
  isOnce: boolean,
): Promise<Opened> {
  if (!unpacking) return opened(input, options);
  const { folder, report, check } = unpacking;
  const reporting = { ...options, onProgress: (progress: Progress) => report.show(progress) };
  let format: unknown;
  if (!isOnce) {
    const inPlace = await opened(input, reporting, mustBeUnpacked).finally(() => report.end());
    if ('choice' in inPlace) return inPlace;
    if ('packed' in inPlace) {
      format = inPlace.packed.format;
      report.window = windowOf(inPlace.packed);
    } else {
      const { image } = inPlace;
      if (!unpacking.isNeeded || !isInPlace(image)) return inPlace;
      await image.close();
      format = image.info.format;
    }
    unpacking.isNeeded = true;
  }
  await check(read, format);
  return opened(input, { ...reporting, spool: folder }).finally(() => report.end());
}

const COMPRESSED = CONTAINERS.filter(({ isArchive }) => !isArchive).map(({ name }) => name);

/** Whether `image` is read at any position of a compressed file, or in several files of a zip archive, which may be compressed. */
const isInPlace = ({ streamed, info }: AnyImage): boolean =>
  !streamed &&
  info.containers.some(({ name }) => COMPRESSED.includes(name) || (name === 'zip' && info.references.length > 0));

/** The disk that is open: the only one of `disks`, or `choice`. */
const chosen = (disks: readonly DiskMember[], choice: string | number | undefined): DiskMember | undefined =>
  disks.length === 1
    ? disks[0]
    : disks.find(({ name }, at) => choice === at + 1 || choice === name || choice === basename(name));

function companionsOf(given: string[], inputOf: (argument: string) => Promise<Input>): Promise<Companion[]> {
  const companionOf = async (argument: string): Promise<Companion> => {
    const { name, file } = namedFile(argument);
    const source = await inputOf(file);
    return name === undefined ? source : { name, source };
  };
  return Promise.all(given.map(companionOf));
}

/**
 * Returns the paths of the other parts if `image`, an argument of the command, is a part of a split file by its name; not those with one of
 * the names `given`.
 */
export async function partsBeside(image: string, given: string[]): Promise<string[]> {
  if (isAddress(image)) return [];
  const path = localPath(image);
  const [folder, name] = [dirname(path), basename(path)];
  if (MACHINE.test(name)) return [];
  const names = [name, ...(await filesIn(folder)).filter((other) => other !== name && !given.includes(other))];
  const parts = (await splitFiles(names)).find((parts) => parts.includes(0)) ?? [];
  return parts.filter((at) => at > 0).map((at) => join(folder, names[at]!));
}
