// The languages of the texts: a file and a line for each. English is always present, others are loaded when they are needed.

import type { AllTexts, Texts } from '../types.texts.js';
import { english } from './english.js';

const OTHERS: Record<string, () => Promise<AllTexts>> = {
  de: async () => (await import('./german.js')).german,
};

/** The languages that have texts, as BCP 47 tags. */
export const languages: readonly string[] = ['en', ...Object.keys(OTHERS)];

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

/** Returns `texts` with `replacements`. Ignores replacements with unknown names. */
export function replaced<T extends object>(texts: T, replacements: Texts | undefined): T {
  return merged(texts, replacements ?? {});
}

function merged<T extends object>(texts: T, replacements: object): T {
  const entries = Object.entries(texts).map(([name, text]) => {
    const other: unknown = Object.hasOwn(replacements, name) ? Reflect.get(replacements, name) : undefined;
    if (other === undefined) return [name, text];
    if (typeof text === 'object' && typeof other === 'object' && other !== null) return [name, merged(text, other)];
    // A text that takes values may be replaced by a string.
    if (typeof text === 'function' && typeof other === 'string') return [name, () => other];
    if (typeof text === 'function' && typeof other === 'function') return [name, guarded(other as Text, text as Text)];
    return [name, typeof other === typeof text ? other : text];
  });
  return Object.fromEntries(entries) as T;
}

type Text = (...values: unknown[]) => string;

/** Functions of pages that have failed: an element calls one at each update. */
const reported = new WeakSet<Text>();

/** Returns a function like `own`. If `own` throws, which is reported once, or returns no string, `text` is called instead. */
function guarded(own: Text, text: Text): Text {
  return (...values) => {
    try {
      const result: unknown = own(...values);
      if (typeof result === 'string') return result;
    } catch (thrown) {
      if (!reported.has(own)) reportError(thrown);
      reported.add(own);
    }
    return text(...values);
  };
}
