// Sorts several files into images to convert, files that belong to these images, and others.

import { type DecantError, type DiskMember, open, splitFiles } from 'decant';
import { MACHINE_EXTENSIONS } from '../formats.js';
import { alone, type Bundle, endingIn, folded, mayBeRaw, type Sorted } from './bundle.js';
import { type InputFile, sourceOf } from './input-file.js';
import { passOver } from './many-files.js';

/** The references of an image to others, and of others to it: folded file names and IDs of disks. */
interface References {
  /** Its references. */
  wanted: string[];
  /** The names by which others may refer to it. */
  called: string[];
}

/** Reads the references of `input`; `undefined` if it is not recognised as an image. Removes `parts` that are not its parts. */
async function referencesOf(
  input: InputFile,
  parts: InputFile[],
  signal: AbortSignal,
): Promise<References | undefined> {
  const { name } = input.file;
  try {
    const companions = await Promise.all(parts.map((part) => sourceOf(part, signal)));
    const image = await open(await sourceOf(input, signal), { companions, signal });
    await image.close();
    const { references, identities, fileSize = 0 } = image.info;
    if (fileSize === input.file.size) parts.splice(0);
    const wanted = references.flatMap(({ fileName, identity }) => [
      folded(fileName),
      ...(identity ? [identity.id] : []),
    ]);
    return { wanted, called: [folded(name), ...identities.map(({ id }) => id)] };
  } catch (thrown) {
    // A damaged image counts as an image: opening it reports the damage. A machine that lacks its disks is a configuration.
    const { kind, fields = {} } = thrown as Partial<DecantError>;
    const isOther = kind === 'not-recognised' || (kind === 'missing-file' && fields.disks);
    return isOther ? undefined : { wanted: [], called: [folded(name)] };
  }
}

/**
 * Sorts files that were given together. A single file always counts as an image: opening it reports its faults. If none of
 * several is recognised, all that may be images count.
 */
export async function sort(files: InputFile[], signal: AbortSignal): Promise<Sorted> {
  const [first, ...others] = files;
  if (first && others.length === 0) return alone(first);
  const machines = await sortMachines(files, signal);
  if (machines) return machines;
  const found = await allReferences(files, signal);
  if (files.some((input) => found.references.get(input))) return sortBy(found, mayBeRaw);
  const { likely } = await passOver(found.files);
  return sortBy(found, (input) => likely.includes(input));
}

/** Sorts files as `sort` does, but counts only recognised images as images. */
export async function sortImages(files: InputFile[], signal: AbortSignal): Promise<Sorted> {
  return sortBy(await allReferences(files, signal), () => false);
}

/** Sorts files that are given while an image is open or converted. Unlike for `sort`, a single file may be skipped, but not a link. */
export async function sortMore(files: InputFile[], signal: AbortSignal): Promise<Sorted> {
  if (files.every(({ link }) => link)) return sort(files, signal);
  const machines = await sortMachines(files, signal);
  if (machines) return machines;
  return sortBy(await allReferences(files, signal), mayBeRaw);
}

/** The names of configurations of virtual machines. */
const MACHINE = endingIn(MACHINE_EXTENSIONS);

/**
 * Sorts files with configurations of virtual machines: images that have nothing to do with their disks are separate. Resolves to
 * `undefined` if no configuration names disks.
 */
async function sortMachines(files: InputFile[], signal: AbortSignal): Promise<Sorted | undefined> {
  const configs = files.filter(({ file }) => MACHINE.test(file.name));
  const others = files.filter((input) => !configs.includes(input));
  const machines: Machine[] = [];
  for (const top of configs) {
    // A folder with a configuration belongs to its machine alone.
    const isApart = ({ folder }: InputFile) =>
      folder !== top.folder && configs.some((config) => config.folder === folder);
    const beside = others.filter((input) => !isApart(input));
    const disks = await disksOf(top, beside, signal);
    if (disks.length > 0) machines.push({ top, beside, disks });
  }
  if (machines.length === 0) return undefined;
  const found = await allReferences(others, signal);
  const chain = (input: InputFile) => [input, ...reachable(input, found.files, found.references)];
  const isDisk = (input: InputFile) =>
    machines.some(({ beside, disks }) => beside.includes(input) && disks.some(({ name }) => name === input.file.name));
  const own = others.filter(isDisk).flatMap(chain);
  const isBeside = (input: InputFile) => machines.some(({ beside }) => beside.includes(input));
  const isOther = (input: InputFile) =>
    found.references.get(input) ? !chain(input).some((one) => own.includes(one)) : !isBeside(input);
  const isHeld = (input: InputFile) =>
    machines.some(({ beside, disks }) => beside.includes(input) && disks.some(({ missing }) => missing));
  const free = found.files.filter(isOther);
  const rest = sortBy({ ...found, files: free.filter((input) => !isHeld(input)) }, mayBeRaw);
  const taken = rest.bundles.flatMap(({ top, companions }) => [top, ...companions]);
  const bundles = machines.map(({ top, beside }): Bundle => {
    const companions = beside.filter((input) => !taken.includes(input));
    return { top, companions, called: [folded(top.file.name)] };
  });
  const useless = configs.filter((config) => !machines.some(({ top }) => top === config));
  return {
    bundles: [...bundles, ...rest.bundles],
    skipped: [...useless, ...rest.skipped],
    held: free.filter(isHeld),
  };
}

interface Machine {
  /** Its configuration. */
  top: InputFile;
  /** The files that may be its disks. */
  beside: InputFile[];
  disks: readonly DiskMember[];
}

/** Lists the disks of the machine whose configuration is `top`. A disk that several files may be counts as missing. */
async function disksOf(top: InputFile, beside: InputFile[], signal: AbortSignal): Promise<readonly DiskMember[]> {
  try {
    const companions = await Promise.all(beside.map((input) => sourceOf(input, signal)));
    // Asks for a disk that does not exist, to get the error that lists all disks without opening one.
    const image = await open(await sourceOf(top, signal), { companions, signal, disk: top.file.name });
    await image.close();
  } catch (thrown) {
    const { code, fields = {} } = thrown as Partial<DecantError>;
    if (code === 'ambiguous-file') return [{ name: fields.file ?? '', size: 0, missing: true }];
    return fields.disks ?? [];
  }
  return [];
}

interface AllReferences {
  /** The files, except for the parts of split files after the first. */
  files: InputFile[];
  references: Map<InputFile, References | undefined>;
  /** The parts of split files after the first, by the first part. */
  parts: Map<InputFile, InputFile[]>;
}

async function allReferences(input: InputFile[], signal: AbortSignal): Promise<AllReferences> {
  const [references, parts]: [AllReferences['references'], AllReferences['parts']] = [new Map(), new Map()];
  const read = async (file: InputFile, next: InputFile[]) =>
    void references.set(file, await referencesOf(file, next, signal));
  for (const [first, ...next] of await splitFiles(input.map(({ file }) => file.name))) {
    const file = input[first!]!;
    parts.set(
      file,
      next.map((at) => input[at]!),
    );
    await read(file, parts.get(file)!);
  }
  const further = [...parts.values()].flat();
  const files = input.filter((file) => !further.includes(file));
  for (const file of files) if (!parts.has(file)) await read(file, []);
  return { files, references, parts };
}

/** `isMeant` decides whether an unrecognised file counts as an image, if no other file refers to it. */
function sortBy({ files, references, parts }: AllReferences, isMeant: (input: InputFile) => boolean): Sorted {
  const called = (input: InputFile) => references.get(input)?.called ?? [folded(input.file.name)];
  const referred = new Set<string>();
  for (const input of files) {
    // An image that refers to its own name means another file with the same name.
    const own = called(input);
    for (const name of references.get(input)?.wanted ?? []) if (!own.includes(name)) referred.add(name);
  }
  const free = files.filter((input) => !called(input).some((name) => referred.has(name)));
  const images = free.filter((input) => references.get(input));
  const others = free.filter((input) => !references.get(input));
  const meant = others.filter(isMeant);
  const bundle = (top: InputFile): Bundle => {
    const further = parts.get(top) ?? [];
    const companions = [...further, ...reachable(top, files, references)];
    return { top, companions, ...(further.length > 0 ? { parts: further.length } : {}), called: called(top) };
  };
  const isThere = (name: string) => files.some((input) => called(input).includes(name));
  const lacksFiles = ({ top, companions }: Bundle) =>
    [top, ...companions].some((input) => references.get(input)?.wanted.some((name) => !isThere(name)));
  const found = [...images, ...meant].map(bundle);
  const reached = new Set(found.flatMap(({ top, companions }) => [top, ...companions]));
  // Images that refer to each other in a circle. Opening them reports it.
  const circular = files.filter((input) => references.get(input) && !reached.has(input)).map(bundle);
  const bundles = [...found, ...circular].sort(
    (a, b) =>
      Number(lacksFiles(b)) - Number(lacksFiles(a)) ||
      a.top.file.name.localeCompare(b.top.file.name, undefined, { numeric: true }),
  );
  return { bundles, skipped: others.filter((input) => !meant.includes(input)), held: [] };
}

/** Finds the files that `top` refers to, directly or through other files. */
function reachable(top: InputFile, files: InputFile[], references: AllReferences['references']): InputFile[] {
  const found = new Set<InputFile>([top]);
  for (const input of found) {
    const wanted = references.get(input)?.wanted ?? [];
    for (const other of files) {
      const called = references.get(other)?.called ?? [folded(other.file.name)];
      if (called.some((name) => wanted.includes(name))) found.add(other);
    }
  }
  found.delete(top);
  return [...found];
}
