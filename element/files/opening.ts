// How an image is opened: its files, and the person's answers.

import type { AnyInfo, Companion, Layer, Need, OpenOptions } from 'decant';
import type { MissingFile } from '../types.texts.js';
import { type Bundle, byNumber, isSameName, labelOf, wholeName } from './bundle.js';
import { type InputFile, isSame, sourceOf, without } from './input-file.js';
import { diskName, stateName } from './names.js';

/** A file that the person has given for a file that the image names. */
export interface Answer {
  need: MissingFile;
  input: InputFile;
  /** Whether no doubts were found, or the person ignores them. */
  confirmed: boolean;
}

/** The state of opening one image. Each answer of the person adds to it. */
export interface DiskOpening {
  bundle: Bundle;
  top: InputFile;
  /** Files that the package matches by their own names. */
  companions: InputFile[];
  /** Companions that may have been given twice. `companions` has both copies. */
  repeated: InputFile[];
  answers: Answer[];
  /** The files that the image needed when files were last given for it. */
  missing: MissingFile[];
  inputFormat?: string;
  snapshot?: string;
  passwords: Passwords;
  /** The name for the output that the person has typed. It is never changed. */
  outputName?: string;
  assumePassword?: boolean;
  salvage?: boolean;
  /** Whether the person has agreed to unpack it into the browser's storage. */
  spool?: boolean;
  /** Whether the person has agreed to the memory that decoding it takes. */
  mayBeLarge?: boolean;
  /** Whether a download has failed because the browser's storage was full. */
  wasFull?: boolean;
}

/** The state of opening an image, or several whose disks become one file: then it is that of the image that is opened now. */
export interface Opening extends DiskOpening {
  /** The other images whose disks become the same file. */
  beside: readonly DiskOpening[];
}

/** The openings of all images whose disks become one file, in the order of the disks. */
export const allOf = (opening: Opening): DiskOpening[] =>
  [opening, ...opening.beside].toSorted((one, other) => byNumber(one.bundle, other.bundle));

export function beginOpening(bundle: Bundle): Opening {
  const [first = bundle, ...others] = bundle.disks ?? [];
  return { ...beginDisk(first), beside: others.map(beginDisk) };
}

const beginDisk = (bundle: Bundle): DiskOpening => ({
  ...(bundle.snapshot === undefined ? {} : { snapshot: bundle.snapshot }),
  bundle,
  top: bundle.top,
  companions: bundle.companions,
  repeated: [],
  answers: [],
  missing: [],
  passwords: new Passwords(),
});

/**
 * The name of the file, or of the disk in it, by which the output is called; with the state of the disk if it is a snapshot. Several disks
 * are called by their file.
 */
export function nameForOutput(opening: Opening, { snapshots }: AnyInfo): string {
  const { top, bundle, snapshot, beside } = opening;
  const { disk, parts } = bundle;
  const { name } = top.file;
  const whole = parts ? wholeName(name) : name;
  const called = disk && beside.length === 0 ? diskName(whole, disk.number) : whole;
  const state = snapshots.find(({ id }) => id === snapshot);
  return state ? stateName(called, state.name || state.id) : called;
}

/** All files of the images. A result must not replace any of them. */
export const sourcesOf = (opening: Opening): InputFile[] =>
  allOf(opening).flatMap(({ top, companions, answers }) => [top, ...companions, ...answers.map(({ input }) => input)]);

/** The size of the image in bytes, and the number of its files. Parts and extents count, files of other layers do not. */
export function imageFiles(
  { fileSize = 0, references }: AnyInfo,
  opening: DiskOpening | undefined,
): [bytes: number, files: number] {
  const extents = references.filter(({ role }) => role === 'extent');
  const answers = opening?.answers.filter(({ need }) => need.role === 'extent').map(({ input }) => input) ?? [];
  const named =
    opening?.companions.filter(({ file }) => extents.some(({ fileName }) => isSameName(fileName, file.name))) ?? [];
  const files = [...named, ...answers].map(({ file }) => file.size);
  return [files.reduce((sum, size) => sum + size, fileSize), 1 + (opening?.bundle.parts ?? 0) + files.length];
}

/** The fields of an opening that are options of `open` with the same name. */
const OPTIONS = [
  'assumePassword',
  'inputFormat',
  'salvage',
  'snapshot',
  'spool',
] as const satisfies (keyof OpenOptions)[];

/** The options for `open`. A file that was given for a name is not also passed under its own name. */
export async function openingOptions(opening: DiskOpening, signal: AbortSignal): Promise<OpenOptions> {
  const { companions, answers, passwords, bundle } = opening;
  const options: OpenOptions = Object.fromEntries(
    OPTIONS.filter((name) => name in opening).map((name) => [name, opening[name]]),
  );
  const answered = answers.map(({ input }) => input);
  const found = await without(companions, answered, isSame);
  const named = async (input: InputFile, name?: string): Promise<Companion> => {
    const source = await sourceOf(input, signal);
    return name === undefined ? source : { name, source };
  };
  const sources = await Promise.all(found.map((input) => named(input, input.as)));
  const answering = await Promise.all(answers.map(({ need, input }) => named(input, need.name)));
  const password = passwords.isEmpty ? {} : { password: (layer: Layer) => passwords.of(layer) };
  const disk = bundle.disk ? { disk: bundle.disk.number, name: labelOf(bundle) } : {};
  return { ...options, ...disk, ...password, companions: [...sources, ...answering] };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether the image has no name for the needed file, only the ID of the disk. */
export const isById = ({ role, name }: MissingFile): boolean => role === 'parent' && UUID.test(name);

export const isMissing = (need: Need): need is MissingFile => need.kind === 'missing-file';

export class Passwords {
  readonly #byName = new Map<string, string>();
  #latest: string | undefined;
  /** The layer whose password the package asked for last. Unlocking stops there if the password is wrong. */
  lastAsked: Layer | undefined;

  get isEmpty(): boolean {
    return this.#latest === undefined;
  }

  /** Whether the person has entered a password for the layer `name`. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The passwords for another disk, on which the latest one is tried. */
  forOther(): Passwords {
    const other = new Passwords();
    other.#latest = this.#latest;
    return other;
  }

  give(name: string, password: string): void {
    this.#byName.set(name, password);
    this.#latest = password;
  }

  /**
   * Returns the password of `layer`. For a layer without one, returns the latest password, since layers often share one,
   * except for the old AES method, which cannot reliably detect a wrong password.
   */
  of(layer: Layer): string | undefined {
    this.lastAsked = layer;
    return this.#byName.get(layer.name) ?? (layer.encryption === 'aes' ? undefined : this.#latest);
  }
}
