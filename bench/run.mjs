// `npm run bench [-- [quick | RUNS] [--against DIR]]`: compares Decant with `qemu-img convert` and bare copies, in alternating
// runs with a warm cache, and writes bench/RESULTS.md. `quick` takes fewer runs and rows of a smaller disk, and writes nothing.
// With `--against` the build of another checkout runs alternately with this one, and nothing is written.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { root, say } from '../scripts/lib.mjs';
import { builds, quick, RUNS } from './arguments.mjs';
import { Browser } from './browser.mjs';
import { comparisons } from './comparisons.mjs';
import { containers } from './containers.mjs';
import { conversions, realFiles } from './conversions.mjs';
import { digests } from './digests.mjs';
import { DESCRIPTION } from './images.mjs';
import { limits } from './limits.mjs';
import { network } from './network.mjs';
import { outputs } from './outputs.mjs';
import { ownObjects } from './own.mjs';
import { lines, print, settle } from './report.mjs';
import { sweep } from './sweep.mjs';
import { quickUpload, uploads } from './uploads.mjs';
import { verifying } from './verifying.mjs';

const browser = await Browser.start();
const machine = `${availableParallelism()} cores (${cpus()[0].model}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
const qemu = execFileSync('qemu-img', ['--version'], { encoding: 'utf8' }).split('\n')[0];
print('# What the benchmark has measured');
print();
print('Written by `npm run bench`; not edited.');
print();
print(`${new Date().toISOString().slice(0, 10)}, ${RUNS} runs. ${machine}.`);
print(`Node ${process.version}, Chromium ${browser.version}, ${qemu}.`);
print(`${DESCRIPTION}; alternating runs, warm cache, a quiet disk before each.`);
await conversions(browser);
await containers();
if (!quick) await digests(browser);
if (!quick) await comparisons();
if (quick) {
  await quickUpload();
} else {
  await outputs(browser);
  await ownObjects();
  verifying();
  await network(browser);
  await uploads(browser);
  await limits(browser);
  await realFiles(browser);
}
await browser.stop();
if (!quick) sweep();
settle();
if (!quick && builds.length === 1) {
  writeFileSync(join(root, 'bench', 'RESULTS.md'), `${lines.join('\n')}\n`);
  say('wrote bench/RESULTS.md');
}
