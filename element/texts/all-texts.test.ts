// All texts: those of a first conversion, and those that load later.

import { expect, test } from 'vitest';
import { textsIn as textsOf } from '../element.test-support.js';
import { allTexts } from './all-texts.js';
import { english } from './english.js';
import { textsIn } from './languages.js';
import { replaced } from './replaced.js';

const shownIn = async (language: string, replacements?: Parameters<typeof replaced>[1]) =>
  allTexts({ texts: replaced(await textsIn(language), replacements), replacements });

test("the page's texts replace those that load later too, in each language", async () => {
  for (const language of ['en', 'de']) {
    const texts = await shownIn(language, { convert: 'Import', unlock: 'Open it', facts: { disk: 'Size' } });
    expect([texts.convert, texts.unlock, texts.facts.disk]).toEqual(['Import', 'Open it', 'Size']);
    expect(texts.facts.time).toBe((await shownIn(language)).facts.time);
  }
});

test('no text stays English in another language', async () => {
  const [ofEnglish, ofGerman] = [await shownIn('en'), await shownIn('de')];
  expect([...textsOf(ofGerman)].map(([path]) => path).toSorted()).toEqual(
    [...textsOf(ofEnglish)].map(([path]) => path).toSorted(),
  );
  expect(ofGerman.unlock).not.toBe(ofEnglish.unlock);
});

test('texts are joined once for each change', () => {
  const shown = { texts: replaced(english, undefined), replacements: undefined };
  expect(allTexts(shown)).toBe(allTexts(shown));
  expect(allTexts({ ...shown, texts: replaced(english, { convert: 'Import' }) }).convert).toBe('Import');
});
