// Foreign text is safe to show; the core's tests have the same cases.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { escaped, shownMessage, shownText } from './shown.js';

const { hidden, cases }: { hidden: [number, number][]; cases: [string, string][] } = JSON.parse(
  readFileSync(new URL('../../crate/tests/shown.json', import.meta.url), 'utf8'),
);

for (const [text, shown] of cases) {
  test(`${JSON.stringify(text.slice(0, 40))}, ${text.length} units`, () => {
    expect(shownText(text)).toBe(shown);
    expect(shownText(shown)).toBe(shown);
  });
}

test('every character of Unicode is treated as in the core', () => {
  const ranges: [number, number][] = [...hidden, [0xd800, 0xdfff]];
  const wrong = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const isHidden = ranges.some(([first, last]) => code >= first && code <= last);
    const text = String.fromCodePoint(code);
    if (shownText(text).startsWith('\\u') !== isHidden || (escaped(text) === text) === isHidden) {
      wrong.push(code.toString(16));
    }
  }
  expect(wrong).toEqual([]);
});

test('lone surrogates are escaped', () => {
  expect(shownText('a\ud800b\udc00')).toBe('a\\ud800b\\udc00');
});

test('JSON reads escaped characters back', () => {
  const text = 'a\u001b\u202e\u{e0041}\ud800b';
  expect(JSON.parse(`"${escaped(text)}"`)).toBe(text);
});

for (const [show, most] of [
  [shownText, 200],
  [shownMessage, 1000],
] as const) {
  test(`at most ${most} characters are shown: the first and the last`, () => {
    expect(show('x'.repeat(most))).toBe('x'.repeat(most));
    const half = 'x'.repeat(most / 2 - 1);
    expect(show(`${half}aa${half}b`)).toBe(`${half}…${half.slice(1)}b`);
    // An escape is never cut.
    expect([...show('\n'.repeat(most))].length).toBeLessThanOrEqual(most);
    expect(show('\n'.repeat(most))).toMatch(/^(\\u000a)+…(\\u000a)+$/);
    // A surrogate pair counts as one character.
    expect(show('💾'.repeat(most))).toBe('💾'.repeat(most));
    expect(show('💾'.repeat(most + 1))).toBe(`${'💾'.repeat(most / 2 - 1)}…${'💾'.repeat(most / 2 - 1)}`);
  });
}
