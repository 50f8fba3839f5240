// All texts in the language of the element, also those that load with the steps that show them.

import type { Stage } from '../stage.js';
import type { AllTexts } from '../types.texts.js';
import type { FirstTexts } from './english.js';
import { englishAsked } from './english-asked.js';
import { replaced } from './replaced.js';

/** By the texts that were there first, which are other ones whenever a text changes. */
const known = new WeakMap<FirstTexts, AllTexts>();

/** Adds the texts that load later, with the page's replacements. Other languages have theirs in `texts` already. */
export function allTexts({ texts, replacements }: Pick<Stage, 'texts' | 'replacements'>): AllTexts {
  const all = known.get(texts) ?? { ...replaced(englishAsked, replacements), ...texts };
  known.set(texts, all);
  return all;
}
