// Texts that a page replaces.

import { expect, test, vi } from 'vitest';
import { textsIn as allTexts } from '../element.test-support.js';
import { english } from './english/index.js';
import { textsIn } from './languages.js';
import { languageOf, replaced } from './replaced.js';

test('a text is replaced, and the others stay', () => {
  const texts = replaced(english, { convert: 'Import', ways: { download: 'To this computer' } });
  expect(texts.convert).toBe('Import');
  expect(texts.ways).toEqual({ ...english.ways, download: 'To this computer' });
  expect({ ...texts, convert: english.convert, ways: english.ways }).toEqual(english);
});

test('each text can be replaced', () => {
  for (const [path] of allTexts(english)) {
    const names = path.split('.');
    const nested = names.toReversed().reduce<object>((inner, name) => ({ [name]: inner }), 'x' as unknown as object);
    const other = new Map(allTexts(replaced(english, nested as never))).get(path);
    expect(typeof other === 'function' ? other() : other, path).toBe('x');
  }
});

test('a text that takes values may be replaced by a function or a string', () => {
  const texts = replaced(english, { opening: (name: string) => `<${name}>`, notOpened: 'No', share: 'some' });
  expect([texts.opening('disk'), texts.notOpened('disk'), texts.share(0.5)]).toEqual(['<disk>', 'No', 'some']);
});

test('values that are not texts are ignored', () => {
  const wrong = { noSuchText: 'x', convert: 7, ways: 'all', title: () => 'x', queued: { open: null } };
  expect(replaced(english, wrong as never)).toEqual(english);
  expect(replaced(english, undefined)).toEqual(english);
});

test('a function that throws or returns no string gives way to the text of the element; its error is reported once', () => {
  const error = new Error('of the page');
  const reports = vi.fn();
  vi.stubGlobal('reportError', reports);
  const opening = () => {
    throw error;
  };
  const none = (() => {}) as unknown as () => string;
  // The texts are replaced again when a language is loaded.
  for (const _ of [1, 2]) {
    const texts = replaced(english, { opening, notOpened: none });
    for (const _ of [1, 2]) expect(texts.opening('disk')).toBe(english.opening('disk'));
    expect(texts.notOpened('disk')).toBe(english.notOpened('disk'));
  }
  expect(reports.mock.calls).toEqual([[error]]);
  vi.unstubAllGlobals();
});

for (const [language, choose] of [
  ['en', 'Choose a file'],
  ['de', 'Datei auswählen'],
  ['de-AT', 'Datei auswählen'],
  ['DE', 'Datei auswählen'],
  ['den', 'Choose a file'],
  ['fr', 'Choose a file'],
  ['', 'Choose a file'],
  ['toString', 'Choose a file'],
] as const) {
  test(`in '${language}' the button is '${choose}'`, async () => expect((await textsIn(language)).choose).toBe(choose));
}

test('the language is that of the nearest element with one, through shadow trees', () => {
  class FakeShadowRoot {
    constructor(readonly host: unknown) {}
  }
  const real = globalThis.ShadowRoot;
  Object.assign(globalThis, { ShadowRoot: FakeShadowRoot });
  try {
    const element = (lang: string | undefined, root: unknown = {}) =>
      ({ closest: () => (lang === undefined ? null : { lang }), getRootNode: () => root }) as unknown as Element;
    expect(languageOf(element('de'))).toBe('de');
    expect(languageOf(element(undefined))).toBe('en');
    expect(languageOf(element(undefined, new FakeShadowRoot(element('fr'))))).toBe('fr');
  } finally {
    Object.assign(globalThis, { ShadowRoot: real });
  }
});
