// The language of an element, and the texts that its page replaces.

import type { Texts } from '../types.texts.js';

/** The language of `element` as a BCP 47 tag, from the nearest `lang` around it, also outside of shadow trees. */
export function languageOf(element: Element): string {
  const marked = element.closest<HTMLElement>('[lang]');
  if (marked) return marked.lang;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? languageOf(root.host) : 'en';
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
