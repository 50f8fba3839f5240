// `decant/texts`: the texts of the element, by language, also for dialogs that a page or program builds itself. A language is a folder and a
// line here. English is always present, others are loaded when they are needed.

import type { AllTexts } from '../types.texts.js';
import { english } from './english/index.js';

const OTHERS: Record<string, () => Promise<AllTexts>> = {
  de: async () => (await import('./german/index.js')).german,
};

/** The languages that have texts, as BCP 47 tags. */
export const languages: readonly string[] = ['en', ...Object.keys(OTHERS)];

/**
 * Loads the texts in `language`, a BCP 47 tag such as `de-AT`; those in English if it has none. `failure`, `notice` and `lostRange` return the
 * sentence for an error, a notice and a lost range of the package by its code. Where a language has no sentence, they return its words for
 * the kind of the error and the English message, between the characters U+2066 and U+2069, which are not shown. Names in the sentences are
 * escaped and cut.
 */
export async function textsIn(language: string): Promise<AllTexts> {
  const [primary = ''] = language.toLowerCase().split('-');
  const load = Object.hasOwn(OTHERS, primary) ? OTHERS[primary] : undefined;
  return load ? load() : english;
}
