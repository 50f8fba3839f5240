// The languages of the page: a file and a line for each.

import { english, type Language } from './languages/english.js';
import { german } from './languages/german.js';

/** By BCP 47 tags, without a region. */
const OTHERS: Record<string, Language> = { de: german };

/** The language that the person prefers, or English if there is none. */
export function language(): Language {
  const [primary = ''] = (navigator.languages?.[0] ?? '').toLowerCase().split('-');
  return (Object.hasOwn(OTHERS, primary) && OTHERS[primary]) || english;
}
