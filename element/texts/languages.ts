// The languages of the texts: a file and a line for each. English is always present, others are loaded when they are needed.

import type { AllTexts } from '../types.texts.js';
import { english } from './english.js';

const OTHERS: Record<string, () => Promise<AllTexts>> = {
  de: async () => (await import('./german.js')).german,
};

/** The language of `element` as a BCP 47 tag, from the nearest `lang` around it, also outside of shadow trees. */
export function languageOf(element: Element): string {
  const marked = element.closest<HTMLElement>('[lang]');
  if (marked) return marked.lang;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? languageOf(root.host) : 'en';
}

/** Loads the texts in `language`, or in English if there are none. */
export async function textsIn(language: string): Promise<AllTexts> {
  const [primary = ''] = language.toLowerCase().split('-');
  const load = Object.hasOwn(OTHERS, primary) ? OTHERS[primary] : undefined;
  return load ? load() : english;
}
