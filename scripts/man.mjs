// The man page of the command, made from the tables of commands and options.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './lib.mjs';

/** Returns the source of the man page. */
export async function manPage() {
  // Imported here because this file is loaded before the packages are installed.
  const { build } = await import('rolldown');
  const file = join(root, '.cache', 'man-page.mjs');
  await build({
    ...{ input: join(root, 'worker', 'cli', 'man-page.ts'), cwd: root, tsconfig: false, platform: 'node' },
    output: { file, format: 'es' },
  });
  const { manPage } = await import(pathToFileURL(file).href);
  return manPage(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
}
