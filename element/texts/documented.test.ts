// docs/element.md lists all texts that a page can replace, with their values.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { textsIn } from '../element.test-support.js';
import { english } from './english/index.js';

const document = readFileSync(new URL('../../docs/element.md', import.meta.url), 'utf8');
const [, table = ''] = document.split('| where | names |\n|---|---|\n');
const [rows = ''] = table.split('\n\n');

test('each text is listed once, with as many values as it takes', () => {
  const documented = [...rows.matchAll(/`([\w.-]+)(?:\(([^)]*)\))?`/g)].map(([, name, values]) => [
    name,
    values?.split(', ').length ?? 0,
  ]);
  const texts = [...textsIn(english)].map(([name, text]) => [name, typeof text === 'function' ? text.length : 0]);
  const byName = ([a]: unknown[], [b]: unknown[]) => (String(a) < String(b) ? -1 : 1);
  expect(documented.toSorted(byName)).toEqual(texts.toSorted(byName));
});
