// How an image is opened: the files that were handed over for it, and what the person has answered.

import type { Companion, Layer, Need, OpenOptions } from 'decant';
import { type Given, isAlike, sourceOf } from './given.js';
import { Passwords } from './passwords.js';
import type { Bundle } from './sorting.js';
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
  answers: Answer[];
  format?: string;
  snapshot?: string;
  passwords: Passwords;
  assumePassword?: boolean;
  salvage?: boolean;
}

export const beginOpening = (bundle: Bundle): Opening => ({
  bundle,
  top: bundle.top,
  companions: bundle.companions,
  answers: [],
  passwords: new Passwords(),
});

/** All files of an image. None of them may be replaced by a result. */
export const sourcesOf = ({ top, companions, answers }: Opening): Given[] => [
  top,
  ...companions,
  ...answers.map(({ given }) => given),
];

/** The options for `open`. A file that answers a name is not also a companion under its own name. */
export function openingOptions(opening: Opening): OpenOptions {
  const { companions, answers, passwords, bundle: _, top: __, ...options } = opening;
  const found = companions.filter(({ file }) => !answers.some(({ given }) => isAlike(given.file, file)));
  const named: Companion[] = answers.map(({ need, given }) => ({ name: need.name, source: sourceOf(given) }));
  const password = passwords.isEmpty ? {} : { password: (layer: Layer) => passwords.of(layer) };
  return { ...options, ...password, companions: [...found.map(sourceOf), ...named] };
}

export const isMissing = (need: Need): need is FileNeed => need.kind === 'missing-file';
