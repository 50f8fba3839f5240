// Sentences about files that are not opened.

import type { Sorted } from '../files/bundle.js';
import type { Given } from '../files/input-file.js';
import type { AllTexts } from '../types.texts.js';

/** The news about skipped files, and images that are not opened; empty if there are none. */
export function newsOf({ skipped, held }: Sorted, texts: AllTexts): string {
  const told = (files: Given[], text: (names: string[]) => string) =>
    files.length > 0 ? text(files.map(({ file }) => file.name)) : '';
  return [told(skipped, texts.aside), told(held, texts.held)].filter(Boolean).join(' ');
}
