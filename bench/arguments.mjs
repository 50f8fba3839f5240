// How the benchmark was called: `npm run bench [-- [quick | RUNS] [--against DIR]]`.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fail, root } from '../scripts/lib.mjs';

const { values, positionals } = parseArgs({ options: { against: { type: 'string' } }, allowPositionals: true });
const [runs = '5'] = positionals;

export const quick = runs === 'quick';
export const RUNS = quick ? 2 : Number(runs);
if (!(RUNS > 0)) fail(`'${runs}' is no number of runs.`, 'Say how many, or quick.');

/** A checkout that was built: its package and its page. */
const build = (name, folder) => ({
  name,
  package: join(folder, 'dist', 'node.js'),
  browserPackage: join(folder, 'dist', 'index.js'),
  command: join(folder, 'dist', 'cli.js'),
  wasm: join(folder, 'dist', 'wasm'),
  assets: join(folder, 'site', 'assets'),
});

/** The builds that run in turn: this one, and the one that it is compared with. */
export const builds = [build('Decant', root)];
if (values.against !== undefined) builds.push(build('the other build', resolve(values.against)));
for (const { command, assets } of builds) {
  for (const path of [command, assets]) if (!existsSync(path)) fail(`${path} is missing.`, 'Run npm run build there.');
}
