// Failures, notices and lost ranges in each language but English: what a language has no sentence for is listed.

import type { ErrorKind, Fields } from 'decant';
import { describe, expect, test } from 'vitest';
import { DAMAGE, ERRORS, NOTICES } from './codes.test-support.js';
import { languages, textsIn } from './languages.js';
import { partsOf } from './wording.js';

/** The message of the package, which a language shows where it has no sentence. */
const ENGLISH = 'The sky is falling';
/** The page around speaks its own language. */
const OF_PAGE = 'from-page';
/** A hostile value for each field. There is no `reason`, which would be shown instead of a sentence. */
const FIELDS = new Proxy({} as Fields, {
  get: (_, name) => {
    if (name === 'reason') return undefined;
    if (name === 'damage') return DAMAGE[0]!.code;
    return /size|added|unit|count|offset|descriptor|header|found|capacity|room|Size|^m(?:in|ax)$/.test(String(name))
      ? 2 ** 20
      : 'a\u202eb';
  },
  has: () => true,
});
/** Matches a text without missing values. */
const WHOLE = /^(?!.*(?:undefined|NaN|[?\0])).*\.$/;

test('docs/errors.md has codes', () => {
  expect([ERRORS, NOTICES, DAMAGE].map(({ length }) => length > 20)).toEqual([true, true, true]);
});

describe.each(languages.filter((language) => language !== 'en'))('%s', async (language) => {
  const { failure, notice, lostRange } = await textsIn(language);

  /** The texts of all errors and notices. A code can have several kinds. */
  const sentences = (fields: Fields): [code: string, text: string][] => [
    ...ERRORS.flatMap(({ code, kinds }) =>
      kinds.map((kind): [string, string] => [
        code,
        failure({ kind: kind as ErrorKind, code, fields, message: ENGLISH }),
      ]),
    ),
    ...NOTICES.map(({ code }): [string, string] => [code, notice({ code, fields, message: ENGLISH })]),
  ];

  test('each documented code has a sentence', () => {
    const clauses = DAMAGE.map(
      ({ code }) => [code, lostRange({ offset: 5, length: 7, code, message: ENGLISH })] as const,
    );
    const missing = [...sentences(FIELDS), ...clauses].filter(([, text]) => text.includes(ENGLISH));
    expect(new Set(missing.map(([code]) => code))).toEqual(new Set([OF_PAGE]));
    for (const [code, text] of clauses) expect(text, code).toMatch(/[^.]$/);
  });

  test('sentences are whole and escaped', () => {
    for (const [code, text] of sentences(FIELDS)) {
      expect(partsOf(text).join(''), code).toMatch(/\.$/);
      expect(text, code).not.toMatch(/undefined|NaN|\u202e/);
    }
  });

  test('sentences without their fields have no hole', () => {
    for (const [code, text] of sentences({})) expect(partsOf(text).join(''), code).toMatch(WHOLE);
  });
});
