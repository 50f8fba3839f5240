// The codes that docs/errors.md documents, for tests of the texts in each language.

import { readFileSync } from 'node:fs';

interface Documented {
  code: string;
  /** The kinds of an error; for other codes, the second column. */
  kinds: string[];
}

/** The rows below the headings of docs/errors.md: `| codes | kinds or fields | ...`. */
const documented = new Map(
  readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    .split('\n## ')
    .map((part): [heading: string, rows: Documented[]] => {
      const rows = part.split('\n').filter((line) => line.startsWith('| `'));
      return [part.slice(0, part.indexOf('\n')), rows.flatMap(rowsOf)];
    }),
);

function rowsOf(line: string): Documented[] {
  const [, codes = '', kinds = ''] = line.split('|');
  return [...codes.matchAll(/`([^`]+)`/g)].map(([, code]) => ({
    code: code!,
    kinds: kinds.replaceAll(/[ `]/g, '').split(','),
  }));
}

const below = (heading: string): Documented[] => documented.get(heading) ?? [];
export const ERRORS = below('Codes of errors');
export const NOTICES = [...below('Codes of notices'), ...below('Codes of notices of outputs')];
export const DAMAGE = below('Codes of lost ranges');
