// The texts of each language, with the page's replacements.

import { expect, test } from 'vitest';
import { textsIn as textsOf } from '../element.test-support.js';
import { textsIn } from './languages.js';
import { replaced } from './replaced.js';

const shownIn = async (language: string, replacements?: Parameters<typeof replaced>[1]) =>
  replaced(await textsIn(language), replacements);

test("the page's texts replace those of each language", async () => {
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
