// The table of what pages load, and what the API consists of: docs/bundlers.md.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../../dist', import.meta.url));

/** What a consumer's page has loaded: requests and bytes of the page, and of its first conversion without a cache. */
export interface Loaded {
  page: { requests: number; bytes: number };
  conversion: { requests: number; bytes: number };
}

/** What tells one build of the package from another. */
export function buildDigest(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(dist).toSorted()) {
    if (/\.(js|mjs|wasm)$/.test(name)) hash.update(name).update(readFileSync(join(dist, name)));
  }
  return hash.digest('hex');
}

/** The modules that `import 'decant'` loads in a page. */
function modulesOf(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  const imports = readFileSync(join(dist, entry), 'utf8').matchAll(/\bfrom\s?["']\.\/([\w.]+)["']/g);
  for (const [, name] of imports) modulesOf(name!, seen);
  return seen;
}

/** How many bytes of the API come from each folder of `worker/`, the largest first. */
export function composition(): [part: string, bytes: number][] {
  const bytes = new Map<string, number>();
  for (const module of modulesOf('browser.js')) {
    const map = new SourceMap(JSON.parse(readFileSync(join(dist, `${module}.map`), 'utf8')));
    for (const [number, line] of readFileSync(join(dist, module), 'utf8').split('\n').entries()) {
      for (let column = 0; column < line.length; column += 1) {
        const part = partOf(map.findEntry(number, column));
        bytes.set(part, (bytes.get(part) ?? 0) + 1);
      }
    }
  }
  return [...bytes].toSorted(([, a], [, b]) => b - a);
}

function partOf(entry: object): string {
  const source = 'originalSource' in entry ? String(entry.originalSource) : '';
  const [, path] = /\/worker\/(.*)$/.exec(source) ?? [];
  if (path === undefined) return 'others';
  return path.includes('/') ? `worker/${path.split('/')[0]}/` : 'worker/';
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
  const parts = composition();
  const total = parts.reduce((sum, [, bytes]) => sum + bytes, 0);
  return [
    HEAD,
    line('', 'page: requests', 'bytes', 'first conversion: requests without a cache', 'bytes'),
    '|---|---|---|---|---|',
    ...rows,
    '',
    '## What the API consists of',
    '',
    `\`import 'decant'\` loads ${number(total)} bytes. The code for files on servers, streams, custom sources and targets is loaded when it is needed.`,
    '',
    line('part', 'bytes'),
    '|---|---|',
    ...parts.map(([part, bytes]) => line(part === 'others' ? 'others' : `\`${part}\``, number(bytes))),
    '',
  ].join('\n');
}
