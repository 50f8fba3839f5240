// Moves declarations that several entry points share into one file: they are a fifth of the text.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Without its extension. */
const SHARED = 'shared';
const DECLARATION = /^(?:\/\*\*(?:.|\n)*?\*\/\n)?export declare (?:interface|type) (\w+)/;

const nameOf = (block) => DECLARATION.exec(block)?.[1];
const withoutComments = (text) => text.replaceAll(/\/\*\*(?:.|\n)*?\*\//g, '');
const mentions = (text, name) => new RegExp(`(?<![.\\w])${name}\\b(?!\\??:)`).test(withoutComments(text));

/** The blocks that are equal in at least two of `files`, by name, and refer only to such blocks. */
function sharedBlocks(files) {
  const seen = files.flat().filter(nameOf);
  const shared = new Map(seen.filter((block, at) => seen.indexOf(block) !== at).map((block) => [nameOf(block), block]));
  const others = [
    ...new Set(
      files.flat().flatMap((block) => /declare (?:interface|type|class) (\w+)/.exec(withoutComments(block))?.[1] ?? []),
    ),
  ];
  for (;;) {
    const isApart = ([, block]) => others.some((name) => !shared.has(name) && mentions(block, name));
    const apart = [...shared].find(isApart);
    if (!apart) return shared;
    shared.delete(apart[0]);
  }
}

/** Moves declarations that several of `dist/NAME.d.ts` share to a file that they import. */
export function shareTypes(dist, names) {
  const files = names.map((name) =>
    readFileSync(join(dist, `${name}.d.ts`), 'utf8')
      .trim()
      .split('\n\n'),
  );
  const shared = sharedBlocks(files);
  for (const [at, blocks] of files.entries()) {
    const [moved, kept] = [[], []];
    for (const block of blocks) (shared.get(nameOf(block)) === block ? moved : kept).push(block);
    const own = kept.join('\n\n');
    const known = moved.map(nameOf);
    const used = known.filter((name) => mentions(own, name));
    const from = (keyword, list) =>
      list.length > 0 ? `${keyword} { ${list.join(', ')} } from './${SHARED}.js';\n` : '';
    writeFileSync(
      join(dist, `${names[at]}.d.ts`),
      `${from('import type', used)}${from('export type', known)}\n${own}\n`,
    );
  }
  writeFileSync(join(dist, `${SHARED}.d.ts`), `${[...shared.values()].join('\n\n')}\n`);
}
