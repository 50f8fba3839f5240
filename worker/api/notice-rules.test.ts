// The rules for notices cover every code of docs/errors.md, which has all codes of the core (e2e/node/documents.spec.ts).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isOfDisk, isSolvedBy, RULES, severityOf } from './notice-rules.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sectionsOf = (text: string) =>
  new Map(text.split('\n## ').map((part) => [part.slice(0, part.indexOf('\n')), part]));
const sections = sectionsOf(readFileSync(join(root, 'docs/errors.md'), 'utf8'));
/** The codes in the first column of the tables of a section. */
const documented = (heading: string): string[] =>
  [...sections.get(heading)!.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm)].flatMap(([, codes]) =>
    [...codes!.matchAll(/`([^`]+)`/g)].map(([, code]) => code!),
  );
const notice = (code: string) => ({ code, fields: {}, message: code });

test('each documented code of Info.safety has a rule', () => {
  expect(Object.keys(RULES).toSorted()).toEqual(documented('Codes of notices').toSorted());
});

test('the results that docs/errors.md names repeat no other notices', () => {
  const text = sections.get('Codes of notices of outputs')!;
  const excepted = text.slice(0, text.indexOf('`OutputFormat.notices`'));
  const named = [...excepted.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code!).filter((code) => code !== 'unverified');
  const repeated = Object.keys(RULES).filter((code) => isOfDisk(notice(code)));
  expect(
    Object.keys(RULES)
      .filter((code) => !repeated.includes(code))
      .toSorted(),
  ).toEqual(named.toSorted());
});

test('a notice without a rule is a warning, and repeated', () => {
  expect([severityOf(notice('new')), isOfDisk(notice('new'))]).toEqual(['warning', true]);
});

test('a notice about sectors is not true of an output that states them', () => {
  const sectors = { code: 'sector-size', fields: { size: 4096 }, message: '' };
  expect([{ sectorSize: 4096 }, { sectorSize: 512 }, {}].map((output) => isSolvedBy(sectors, output))).toEqual([
    true,
    false,
    false,
  ]);
  expect(isSolvedBy(notice('dirty'), {})).toBe(false);
});
