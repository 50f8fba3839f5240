// Compares custom sources and targets in Node, which read and write files by `FileHandle`, with the built-in ones.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builds } from './arguments.mjs';
import { empty, image } from './images.mjs';
import { alternate, OUT, perBuild, print, printRatios, sorted, table } from './report.mjs';

const PROGRAM = fileURLToPath(new URL('own-convert.mjs', import.meta.url));

const WAYS = {
  'built-in': [],
  'own source': ['source'],
  'own target': ['target'],
  'own source and target': ['source', 'target'],
};

export async function ownObjects() {
  for (const kind of ['zlib', 'uncompressed']) {
    const path = image(kind);
    const memory = [];
    const run = (way, build) => {
      const args = [PROGRAM, build.package, empty('1M'), path, OUT, ...WAYS[way]];
      const { seconds, idle, peak } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
      memory.push({ way, build, above: peak - idle });
      return seconds;
    };
    print(`\n## ${kind}, a program's own source and target, Node, workers warm`);
    const runners = Object.keys(WAYS).map((way) => perBuild(way, (build) => run(way, build)));
    printRatios(await alternate(Object.assign({}, ...runners)), `${builds[0].name}, built-in`);
    const most = (way, build) =>
      sorted(memory.filter((run) => run.way === way && run.build === build).map(({ above }) => above)).at(-1);
    table(
      ['peak memory above idle, MiB', ...builds.map(({ name }) => name)],
      Object.keys(WAYS).map((way) => [way, ...builds.map((build) => most(way, build).toFixed(0))]),
    );
  }
}
