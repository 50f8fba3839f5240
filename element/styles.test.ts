// docs/element.md lists the custom properties with their defaults, and nothing else decides on colours, radii, spaces and fonts.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { styles } from './styles.js';

const [, host = '', rules = ''] = /:host \{\n(.*?)\n {2}\}(.*)/s.exec(styles.cssText)!;
const documented = readFileSync(new URL('../docs/element.md', import.meta.url), 'utf8');
const [, rows = ''] = documented.split('| custom property | default | use |\n|---|---|---|\n');
const [table = ''] = rows.split('\n\n');

const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name, value]) => [name, value]);

test('each custom property is documented with its default', () => {
  const declared = matches(host, /^ *(--[\w-]+): (.*);$/gm);
  expect(declared.length).toBeGreaterThan(20);
  expect(matches(table, /^\| `([\w-]+)` \| `(.+?)` \| .+ \|$/gm)).toEqual(declared);
});

test('each custom property is used', () => {
  const used = new Set(styles.cssText.match(/(?<=var\()--[\w-]+/g));
  expect(matches(host, /^ *(--[\w-]+): (.*);$/gm).filter(([name]) => !used.has(name!))).toEqual([]);
});

/** Values that custom properties state: all but those that depend on the text or on others, and 0. */
test.each([
  ['colours', /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|light-dark)\(/g],
  ['lengths of the page or the window', /\d(?:rem|v[wh])\b/g],
  ['radii', /radius: (?!var\(|0;)[^;]+/g],
  ['spaces', /(?:gap|margin|padding)[a-z-]*: [^;]*?\d(?:px|em|%)[^;]*/g],
  ['fonts', /font(?:-family|-size|-weight)?: (?!var\(|inherit|1em)[^;]+/g],
  ['heights of lines', /line-height: (?!var\(|1\.2)[^;]+/g],
])('rules state no %s of their own', (_, pattern) => {
  expect(rules.match(pattern) ?? []).toEqual([]);
});
