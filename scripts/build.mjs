// `npm run build`: builds everything that ships: dist/ (the package) and site/ (the page). Skips outputs that are up to date.

import { chmodSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bindings, bundle } from './bundle.mjs';
import { bin, root, run, say, unlessDone } from './lib.mjs';
import { manPage } from './man.mjs';
import { notices } from './notices.mjs';
import { checkNode, npmPackages } from './setup.mjs';
import { types } from './types.mjs';
import { FILES, INPUTS, wasm } from './wasm.mjs';

async function npmPackage() {
  say('building the package');
  const dist = join(root, 'dist');
  rmSync(dist, { recursive: true, force: true });
  await bundle(dist);
  for (const [name, file] of Object.entries(FILES)) {
    copyFileSync(join(bindings(name), 'index_bg.wasm'), join(dist, file));
  }
  await types(dist);
  chmodSync(join(dist, 'cli.js'), 0o755);
  writeFileSync(join(dist, 'decant.1'), await manPage());
  writeFileSync(join(dist, 'THIRD-PARTY-NOTICES.txt'), notices());
}

export async function build() {
  checkNode();
  await npmPackages();
  await wasm();
  const licences = ['LICENSE-MIT', 'LICENSE-APACHE', 'scripts/notices.mjs'];
  const packaging = [
    'scripts/bundle.mjs',
    'scripts/lit-policy.mjs',
    'scripts/man.mjs',
    'scripts/types.mjs',
    'scripts/globals',
    'docs/api',
    'element',
  ];
  const library = [...INPUTS, 'scripts/build.mjs', ...licences, ...packaging, 'worker', 'package.json'];
  await unlessDone('package', { inputs: library, output: 'dist/THIRD-PARTY-NOTICES.txt' }, npmPackage);
  await unlessDone('page', { inputs: [...library, 'web'], output: 'site/index.html' }, () => {
    say('building the page');
    run('Building the page', bin('vite'), ['build', 'web', '--logLevel', 'warn']);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build();
  say('built dist/ (the package) and site/ (the page)');
}
