// Texts of which a page has replaced some.

import type { Texts as Replacements } from '../types.js';
import type { Texts } from './english.js';

/** `texts`, with those of `replacements` that have the names of texts. */
export function replaced(texts: Texts, replacements: Replacements | undefined): Texts {
  return merged(texts, replacements ?? {});
}

function merged<T extends object>(texts: T, replacements: Replacements): T {
  const entries = Object.entries(texts).map(([name, text]) => {
    const other = replacements[name];
    if (other === undefined) return [name, text];
    // The lines of help have a slot of their own.
    const isGroup = typeof text === 'object' && !Array.isArray(text);
    if (isGroup && typeof other === 'object') return [name, merged(text, other)];
    // A text that takes values may be replaced by one that takes none.
    if (typeof text === 'function' && typeof other === 'string') return [name, () => other];
    return [name, typeof other === typeof text ? other : text];
  });
  return Object.fromEntries(entries);
}
