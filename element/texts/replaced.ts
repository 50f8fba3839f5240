// Replaces texts by those of the page.

import type { AllTexts, Texts } from '../types.texts.js';

/** Returns `texts` with `replacements`. Ignores replacements with unknown names. */
export function replaced(texts: AllTexts, replacements: Texts | undefined): AllTexts {
  return merged(texts, replacements ?? {});
}

function merged<T extends object>(texts: T, replacements: object): T {
  const entries = Object.entries(texts).map(([name, text]) => {
    const other: unknown = Object.hasOwn(replacements, name) ? Reflect.get(replacements, name) : undefined;
    if (other === undefined) return [name, text];
    // The lines of help are replaced by a slot instead.
    const isGroup = typeof text === 'object' && !Array.isArray(text);
    if (isGroup && typeof other === 'object' && other !== null) return [name, merged(text, other)];
    // A text that takes values may be replaced by a string.
    if (typeof text === 'function' && typeof other === 'string') return [name, () => other];
    return [name, typeof other === typeof text ? other : text];
  });
  return Object.fromEntries(entries);
}
