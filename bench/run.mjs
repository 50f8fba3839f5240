// `npm run bench [-- RUNS]`: a real ext4 of 3.5 GiB, converted by qemu-img, by the command and in
// Chromium by both engines, in alternating runs with a warm cache. Prints minimum, median and
// maximum in seconds, and how much faster than `qemu-img convert -W` each is.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, homedir } from 'node:os';
import { join } from 'node:path';
import { root, say } from '../scripts/lib.mjs';
import { Browser } from './browser.mjs';

const folder = join(root, '.cache', 'bench');
const RUNS = Number(process.argv[2] ?? 5);
const DATA = 2.1e9;

mkdirSync(folder, { recursive: true });
const at = (name) => join(folder, name);

/** Copies of this machine's own programs and libraries, about 2 GB. */
function makeDisk() {
  if (existsSync(at('disk.raw'))) return;
  say('making the disk');
  const files = at('files');
  rmSync(files, { recursive: true, force: true });
  mkdirSync(files);
  let total = 0;
  const take = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (total > DATA) return;
      const inside = join(path, entry.name);
      if (entry.isDirectory()) take(inside);
      else if (entry.isFile()) {
        execFileSync('cp', ['--parents', inside, files]);
        total += statSync(inside).size;
      }
    }
  };
  for (const path of ['/usr/lib/chromium', '/usr/lib/x86_64-linux-gnu', '/usr/bin', '/usr/lib', '/opt', join(homedir(), '.rustup')]) {
    if (existsSync(path)) take(path);
  }
  execFileSync('truncate', ['-s', '3584M', at('disk.raw.new')]);
  execFileSync('/sbin/mkfs.ext4', ['-q', '-F', '-d', files, at('disk.raw.new')]);
  rmSync(files, { recursive: true });
  execFileSync('mv', [at('disk.raw.new'), at('disk.raw')]);
}

const IMAGES = { zlib: ['-c'], 'zlib, scattered': ['-c', '-W'], uncompressed: [] };

function makeImage(name) {
  const path = at(`${name.replace(', ', '-')}.qcow2`);
  if (!existsSync(path)) {
    say(`making the ${name} image`);
    execFileSync('qemu-img', ['convert', '-O', 'qcow2', ...IMAGES[name], at('disk.raw'), `${path}.new`]);
    execFileSync('mv', [`${path}.new`, path]);
  }
  return path;
}

/** Seconds that `work` takes. */
async function timed(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

function command(program, ...args) {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

makeDisk();
const browser = await Browser.start();
const runners = {
  'qemu-img convert -W': (image) => timed(() => command('qemu-img', 'convert', '-W', '-O', 'raw', image, at('out.raw'))),
  'qemu-img convert': (image) => timed(() => command('qemu-img', 'convert', '-O', 'raw', image, at('out.raw'))),
  'decant, Node': (image) => timed(() => command(process.execPath, join(root, 'dist', 'cli.js'), 'convert', image, at('out.raw'))),
  'decant, Chromium, threads': (image) => browser.convert(image, 'threads'),
  'decant, Chromium, workers': (image) => browser.convert(image, 'workers'),
};

console.log(`${availableParallelism()} cores, Node ${process.version}, Chromium ${browser.version}, ${execFileSync('qemu-img', ['--version'], { encoding: 'utf8' }).split('\n')[0]}`);
for (const name of Object.keys(IMAGES)) {
  const image = makeImage(name);
  execFileSync('cat', [image], { stdio: 'ignore' });
  const times = Object.fromEntries(Object.keys(runners).map((runner) => [runner, []]));
  for (let run = 0; run < RUNS; run += 1) {
    for (const [runner, convert] of Object.entries(runners)) {
      // Nobody has to wait for what the one before has still to write to the disk.
      rmSync(at('out.raw'), { force: true });
      execFileSync('sync');
      times[runner].push(await convert(image));
    }
  }
  const rival = median(times['qemu-img convert -W']);
  console.log(`\n${name}: ${(statSync(image).size / 1e6).toFixed(0)} MB`);
  for (const [runner, seconds] of Object.entries(times)) {
    const figures = [Math.min(...seconds), median(seconds), Math.max(...seconds)].map((value) => value.toFixed(2).padStart(7));
    console.log(`  ${runner.padEnd(28)}${figures.join('')}  x${(rival / median(seconds)).toFixed(2)}`);
  }
}
rmSync(at('out.raw'), { force: true });
await browser.stop();
