// The languages that the texts are written in. English is always there, others are loaded when they are needed.

import type { AllTexts } from '../types.texts.js';
import { english } from './english.js';
import { unitsOf } from './units.js';

const OTHERS: Record<string, () => Promise<AllTexts>> = {
  de: async () => (await import('./german.js')).german(unitsOf({ language: 'de', bytes: 'Bytes', days: 'Tage' })),
};

/** The language in which `element` stands, as BCP 47 has it; the shadow trees around it included. */
export function languageOf(element: Element): string {
  const marked = element.closest<HTMLElement>('[lang]');
  if (marked) return marked.lang;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? languageOf(root.host) : 'en';
}

/** The texts in `language`, or in English where there are none. */
export async function textsIn(language: string): Promise<AllTexts> {
  const [primary = ''] = language.toLowerCase().split('-');
  const load = Object.hasOwn(OTHERS, primary) ? OTHERS[primary] : undefined;
  return load ? load() : english;
}
