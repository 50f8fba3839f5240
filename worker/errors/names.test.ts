// The literal names and codes are those of the registries and of docs/errors.md.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PLACES } from '../places/registry.js';
import { FORMATS, OUTPUTS } from '../public/registry.js';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const source = read('./names.ts');
const doc = read('../../docs/errors.md');

/** The members of the union `name`. */
const membersOf = (name: string): string[] => {
  const [, members] = new RegExp(`export type ${name} =\n(.*?)\\(string`, 's').exec(source)!;
  return [...members!.matchAll(/'([^']+)'/g)].map(([, member]) => member!).toSorted();
};

/** The codes in the tables of the sections of docs/errors.md whose titles match. */
const codesIn = (title: RegExp): string[] => {
  const sections = doc.split(/^## /m).filter((section) => title.test(section.split('\n')[0]!));
  const rows = sections.flatMap((section) => section.split('\n').filter((line) => line.startsWith('| `')));
  return rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([a-z0-9-]+)`/g)].map(([, code]) => code!));
};

const KINDS = [
  ...['not-recognised', 'unsupported', 'corrupt', 'limit', 'missing-file', 'password', 'source', 'target', 'cancelled'],
  ...['usage', 'internal'],
];

test.each<[name: string, expected: string[]]>([
  ['ImageFormat', FORMATS.filter(({ kind }) => kind === 'image').map(({ name }) => name)],
  ['OutputFormatName', OUTPUTS.map(({ name }) => name)],
  ['PlaceName', PLACES.map(({ name }) => name)],
  ['ErrorCode', [...codesIn(/^Codes of errors$/), ...KINDS]],
  ['NoticeCode', codesIn(/^Codes of notices/)],
  ['LostCode', codesIn(/^Codes of lost ranges$/)],
  ['FindingCode', codesIn(/^Codes of findings$/)],
  ['FileFindingCode', codesIn(/^Codes of findings in a file$/)],
])('%s', (name, expected) => {
  expect(expected.length).toBeGreaterThan(5);
  expect(membersOf(name)).toEqual([...new Set(expected)].toSorted());
});
