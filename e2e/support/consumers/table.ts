// The table of what pages load: docs/bundlers.md.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../../dist', import.meta.url));

/** The load of a consumer's page: requests and bytes of the page, and of its first conversion without a cache. */
export interface Loaded {
  page: { requests: number; bytes: number };
  conversion: { requests: number; bytes: number };
}

/** Identifies a build of the package. */
export function buildDigest(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(dist).toSorted()) {
    if (/\.(js|mjs|wasm)$/.test(name)) hash.update(name).update(readFileSync(join(dist, name)));
  }
  return hash.digest('hex');
}

const HEAD = `# What does a page load?

Written by \`npm run test:long -- consumers\`, from the packed package: a first conversion of a qcow2 image in Chromium, with
\`base\` in a sub-folder. Bytes are those of the files, before a server compresses them.
`;

const number = (value: number) => value.toLocaleString('en');

const line = (...cells: string[]) => `| ${cells.join(' | ')} |`;

/** The document. A consumer whose second part is `undefined` was not run with this build, and is left out. */
export function documentOf(consumers: [label: string, loaded: Loaded | undefined][]): string {
  const rows = consumers.flatMap(([label, loaded]) => {
    if (!loaded) return [];
    const { page, conversion } = loaded;
    return [line(label, ...[page.requests, page.bytes, conversion.requests, conversion.bytes].map(number))];
  });
  return [
    HEAD,
    line('', 'page: requests', 'bytes', 'first conversion: requests without a cache', 'bytes'),
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
