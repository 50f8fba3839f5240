// How an image is opened: the files that were handed over for it, and what the person has answered.

import type { AnyInfo, Companion, Layer, Need, OpenOptions } from 'decant';
import { type Given, isSame, sourceOf, without } from './given.js';
import { Passwords } from './passwords.js';
import { type Bundle, isSameName } from './sorting.js';
import type { FileNeed } from './state.js';

/** A file that was handed over for a name in an image. */
export interface Answer {
  need: FileNeed;
  given: Given;
  /** Whether it was found to fit, or the person insists on it. */
  confirmed: boolean;
}

/** Grows with every answer that the person gives. */
export interface Opening {
  bundle: Bundle;
  top: Given;
  /** Files that the package finds by their own names. */
  companions: Given[];
  /** Those of them that may have been handed over once more since: the later ones are among the companions too. */
  repeated: Given[];
  answers: Answer[];
  /** The files that the image asked for when files were last handed over for it. */
  missing: FileNeed[];
  format?: string;
  snapshot?: string;
  passwords: Passwords;
  /** The name for the output that the person has typed. */
  outputName?: string;
  assumePassword?: boolean;
  salvage?: boolean;
}

export const beginOpening = (bundle: Bundle): Opening => ({
  bundle,
  top: bundle.top,
  companions: bundle.companions,
  repeated: [],
  answers: [],
  missing: [],
  passwords: new Passwords(),
});

/** All files of an image. None of them may be replaced by a result. */
export const sourcesOf = ({ top, companions, answers }: Opening): Given[] => [
  top,
  ...companions,
  ...answers.map(({ given }) => given),
];

/** How many bytes the image has, and in how many files: its extents count, the files of other disks do not. */
export function imageFiles(
  { fileSize = 0, references }: AnyInfo,
  opening: Opening | undefined,
): [bytes: number, files: number] {
  const extents = references.filter(({ role }) => role === 'extent');
  const answers = opening?.answers.filter(({ need }) => need.role === 'extent').map(({ given }) => given) ?? [];
  const named =
    opening?.companions.filter(({ file }) => extents.some(({ fileName }) => isSameName(fileName, file.name))) ?? [];
  const files = [...named, ...answers].map(({ file }) => file.size);
  return [files.reduce((sum, size) => sum + size, fileSize), 1 + files.length];
}

/** The options for `open`. A file that answers a name is not also a companion under its own name. */
export async function openingOptions(opening: Opening, signal: AbortSignal): Promise<OpenOptions> {
  const { companions, repeated: _, answers, missing: __, passwords, bundle: ___, top: ____, ...rest } = opening;
  const { outputName: _____, ...options } = rest;
  const answered = answers.map(({ given }) => given);
  const found = await without(companions, answered, isSame);
  const sources = await Promise.all(found.map((given) => sourceOf(given, signal)));
  const answering = async ({ need, given }: Answer) => ({ name: need.name, source: await sourceOf(given, signal) });
  const named: Companion[] = await Promise.all(answers.map(answering));
  const password = passwords.isEmpty ? {} : { password: (layer: Layer) => passwords.of(layer) };
  return { ...options, ...password, companions: [...sources, ...named] };
}

export const isMissing = (need: Need): need is FileNeed => need.kind === 'missing-file';
