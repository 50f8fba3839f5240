// Parses the arguments of `npm run bench [-- [quick | sweep | RUNS] [--against DIR]]`.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fail, root } from '../scripts/lib.mjs';

const { values, positionals } = parseArgs({ options: { against: { type: 'string' } }, allowPositionals: true });
const [runs = '5'] = positionals;

export const quick = runs === 'quick';
export const isSweep = runs === 'sweep';
export const RUNS = quick || isSweep ? 2 : Number(runs);
if (!(RUNS > 0)) fail(`'${runs}' is not a number of runs.`, 'Say how many, quick, or sweep.');

/** A built checkout: its package and its page. Earlier builds named some files differently. */
function build(name, folder) {
  const file = (...names) =>
    join(folder, 'dist', names.find((each) => existsSync(join(folder, 'dist', each))) ?? names[0]);
  return {
    name,
    package: file('node.js'),
    browserPackage: file('browser.js', 'index.js'),
    command: file('cli.js'),
    wasm: {
      workers: file('decant.wasm', 'plain.wasm', 'wasm/plain/index_bg.wasm'),
      threads: file('threads.wasm', 'wasm/threads/index_bg.wasm'),
    },
    site: join(folder, 'site'),
    assets: join(folder, 'site', 'assets'),
  };
}

/** The builds that run alternately: this one, and the one to compare with. */
export const builds = [build('Decant', root)];
if (values.against !== undefined) builds.push(build('the other build', resolve(values.against)));
for (const { command, assets } of builds) {
  for (const path of [command, assets]) if (!existsSync(path)) fail(`${path} is missing.`, 'Run npm run build there.');
}
