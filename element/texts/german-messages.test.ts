// Failures and notices in German: those that a person meets on a page have a sentence; of others the kind is told.

import { readFileSync } from 'node:fs';
import type { ErrorKind, Fields } from 'decant';
import { expect, test } from 'vitest';
import { germanMessages } from './german-messages.js';
import { clause, sentence } from './sentences.js';
import { unitsOf } from './units.js';

const { failure, notice } = germanMessages(unitsOf({ language: 'de', bytes: 'Bytes', days: 'Tage' }));
const ENGLISH = 'The sky is falling';
/** A value for each field, as nasty as it can be. */
const FIELDS = new Proxy({} as Fields, {
  get: (_, name) => (/size|added|unit|count|offset|descriptor|header/.test(String(name)) ? 2 ** 20 : 'a\u202eb'),
  has: () => true,
});

/** Rows of docs/errors.md: `| codes | kind or fields | ...`. */
const documented = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8').split('## Codes of notices');
const codesIn = (part: string): [code: string, kind: string][] =>
  part
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => {
      const [, codes = '', kind = ''] = line.split('|');
      const kinds = kind.replaceAll(/[ `]/g, '').split(',');
      return [...codes.matchAll(/`([^`]+)`/g)].flatMap(([, code]) =>
        kinds.map((kind): [string, string] => [code!, kind]),
      );
    });

const hasSentence = (text: string) => !text.includes(ENGLISH);

test.each(codesIn(documented[0]!))('the error %s, %s', (code, kind) => {
  const fields = {
    role: 'parent',
    file: 'f',
    neededBy: 'Top',
    layer: 'A',
    format: 'raw',
    folder: 'f',
    name: 'n',
    size: 5,
  };
  const text = failure({ kind: kind as ErrorKind, code, fields, message: ENGLISH });
  expect(text).toMatch(/\.$/);
  expect(text).not.toMatch(/undefined|NaN/);
});

test.each(codesIn(documented[1]!).map(([code]) => code))('the notice %s', (code) => {
  const text = notice({ code, fields: FIELDS, message: ENGLISH }, undefined);
  expect(text).toMatch(/\.$/);
  expect(text).not.toMatch(/undefined|NaN|\u202e/);
});

test('most of them are in German', () => {
  const errors = codesIn(documented[0]!).map(([code, kind]) =>
    failure({ kind: kind as ErrorKind, code, fields: {}, message: ENGLISH }),
  );
  const notices = codesIn(documented[1]!).map(([code]) => notice({ code, fields: FIELDS, message: ENGLISH }, true));
  expect(errors.filter(hasSentence).length).toBeGreaterThan(15);
  expect(notices.filter(hasSentence).length).toBeGreaterThan(15);
});

test('what has no sentence is told by its kind, and in English', () => {
  const unknown = { code: 'of-tomorrow', fields: {}, message: ENGLISH };
  expect(failure({ kind: 'corrupt', ...unknown })).toBe(`Das Abbild ist beschädigt. Auf Englisch: ${ENGLISH}.`);
  expect(notice(unknown, false)).toBe(`Auf Englisch: ${ENGLISH}.`);
  const left = { ...unknown, fields: { reason: 'It is full', left: 'a part is left' } };
  expect(failure({ kind: 'sink', ...left })).toContain('It is full.');
});

test('what the page says stays, and a companion is named', () => {
  expect(failure({ kind: 'sink', code: 'from-page', fields: {}, message: 'Ihr Platz ist voll' })).toBe(
    'Ihr Platz ist voll.',
  );
  const truncated = { kind: 'corrupt', code: 'truncated', fields: { file: 'base.qcow2' }, message: ENGLISH } as const;
  expect(failure(truncated)).toMatch(/^base\.qcow2: Das Abbild ist abgeschnitten/);
});

test('sentences end with one full stop, clauses with none', () => {
  const all = ['It is damaged', 'It is damaged.', 'Why?', 'No!'];
  expect(all.map(sentence)).toEqual(['It is damaged.', 'It is damaged.', 'Why?', 'No!']);
  expect(['it is full', 'it is full.'].map(clause)).toEqual(['it is full', 'it is full']);
});
