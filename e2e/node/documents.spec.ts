// docs/api.md has every export of the package and every kind of error.

import { readFileSync } from 'node:fs';
import { expect, test } from '../support/node.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const api = read('docs/api.md');

/** The names that a declaration file exports one by one. */
function exportsOf(declarations: string): string[] {
  const declared = [...declarations.matchAll(/^export declare \w+ (\w+)/gm)].map(([, name]) => name!);
  const lists = [...declarations.matchAll(/^export (?:type )?\{ (.*) \} from/gm)].flatMap(([, list]) =>
    list!.split(', '),
  );
  return [...declared, ...lists.map((name) => name.split(' ').at(-1)!)];
}

for (const [module, least] of [
  ['index', 8],
  ['node', 5],
  ['testing/index', 2],
] as const) {
  test(`every export of ${module}`, () => {
    const names = exportsOf(read(`dist/${module}.d.ts`));
    expect(names.length).toBeGreaterThanOrEqual(least);
    expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(api))).toEqual([]);
  });
}

test('every kind of error, and no other', () => {
  const [, kinds] = /type ErrorKind =([^;]*);/.exec(read('dist/errors.d.ts'))!;
  const rows = [...api.slice(api.indexOf('## Errors')).matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name!);
  expect(rows.filter((name) => name !== 'kind')).toEqual([...kinds!.matchAll(/'([\w-]+)'/g)].map(([, kind]) => kind!));
});
