// Texts of which a page has replaced some.

import type { AllTexts, Texts } from '../types.texts.js';

/** `texts`, with those of `replacements` that have the names of texts. */
export function replaced(texts: AllTexts, replacements: Texts | undefined): AllTexts {
  return merged(texts, replacements ?? {});
}

function merged<T extends object>(texts: T, replacements: object): T {
  const entries = Object.entries(texts).map(([name, text]) => {
    const other: unknown = Object.hasOwn(replacements, name) ? Reflect.get(replacements, name) : undefined;
    if (other === undefined) return [name, text];
    // The lines of help have a slot of their own.
    const isGroup = typeof text === 'object' && !Array.isArray(text);
    if (isGroup && typeof other === 'object' && other !== null) return [name, merged(text, other)];
    // A text that takes values may be replaced by one that takes none.
    if (typeof text === 'function' && typeof other === 'string') return [name, () => other];
    return [name, typeof other === typeof text ? other : text];
  });
  return Object.fromEntries(entries);
}
