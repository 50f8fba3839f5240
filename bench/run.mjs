// `npm run bench [-- quick | RUNS]`: prints how fast Decant is beside `qemu-img convert` and bare copies, in
// alternating runs with a warm cache, and writes bench/RESULTS.md. `quick` takes fewer runs and rows.

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { root, say } from '../scripts/lib.mjs';
import { Browser } from './browser.mjs';
import { at, cell, empty, image, kinds, sparse } from './images.mjs';

const quick = process.argv[2] === 'quick';
const RUNS = quick ? 2 : Number(process.argv[2] ?? 5);
const OUT = at('out.raw');
const CLI = join(root, 'dist', 'cli.js');

const report = [];
function print(line = '') {
  console.log(line);
  report.push(line);
}

const sorted = (values) => values.toSorted((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];

function table(head, rows) {
  print();
  print(`| ${head.join(' | ')} |`);
  print(`|${head.map(() => '---').join('|')}|`);
  for (const row of rows) print(`| ${row.join(' | ')} |`);
}

/** Runs a program; answers with its seconds: by the clock, and of all cores. */
function timed(program, ...args) {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" 2>&1';
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', program, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  const [real, user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number);
  return { real, busy: user + system };
}

/** Nobody has to wait for what the one before has still to write to the disk. */
function settle() {
  rmSync(OUT, { force: true });
  execFileSync('sync');
}

/** Runs all in turn, `runs` times; answers with the seconds of each. */
async function alternate(runners, runs = RUNS) {
  const times = Object.fromEntries(Object.keys(runners).map((name) => [name, []]));
  for (let run = 0; run < runs; run += 1) {
    for (const [name, runner] of Object.entries(runners)) {
      settle();
      times[name].push(await runner());
    }
  }
  settle();
  return times;
}

const seconds = (value) => value.toFixed(2);
const spread = (values) => [sorted(values)[0], median(values), sorted(values).at(-1)].map(seconds);

function printRatios(times, rival) {
  const base = median(times[rival]);
  const row = ([name, values]) => [name, ...spread(values), `${(base / median(values)).toFixed(2)} ×`];
  table(['', 'min s', 'median s', 'max s', `against ${rival}`], Object.entries(times).map(row));
}

const qemu =
  (path, ...options) =>
  () =>
    timed('qemu-img', 'convert', ...options, '-O', 'raw', path, OUT).real;

async function conversions(browser) {
  for (const kind of quick ? ['zlib', 'uncompressed'] : kinds) {
    const path = image(kind);
    execFileSync('cat', [path], { stdio: 'ignore' });
    const busy = [];
    const node = () => {
      const { real, busy: cores } = timed(process.execPath, CLI, 'convert', path, OUT);
      busy.push({ cores: cores / real, cores_seconds: cores });
      return real;
    };
    const copies = kind === 'uncompressed' ? await bareCopy(browser, path) : {};
    const times = await alternate({
      'qemu-img convert -W': qemu(path, '-W'),
      'qemu-img convert': qemu(path),
      'Decant, Node': node,
      'Decant, Chromium to OPFS, workers': () => browser.convert(path, 'workers'),
      'Decant, Chromium to OPFS, threads': () => browser.convert(path, 'threads'),
      ...copies,
    });
    print(`\n## ${kind}, ${(statSync(path).size / 1e6).toFixed(0)} MB`);
    printRatios(times, 'qemu-img convert -W');
    print(
      `\nNode: ${median(busy.map(({ cores }) => cores)).toFixed(2)} cores busy, ${median(busy.map(({ cores_seconds: it }) => it)).toFixed(1)} CPU seconds.`,
    );
  }
}

/** The best bare copy, by a sweep of its own. */
async function bareCopy(browser, path) {
  const found = [];
  for (const slice of [4, 16, 32]) {
    for (const ahead of [1, 2]) {
      const options = { slice: slice << 20, ahead, write: 1 << 20 };
      found.push({ options, slice, ahead, time: await browser.copy(path, options) });
    }
  }
  const best = found.toSorted((a, b) => a.time - b.time)[0];
  return { [`bare copy, slices of ${best.slice} MiB, ${best.ahead} ahead`]: () => browser.copy(path, best.options) };
}

/** Seconds that a conversion takes inside of a process whose workers are warm. */
function warm(path) {
  const program = `
    import { open } from ${JSON.stringify(join(root, 'dist', 'node.js'))};
    import { rmSync } from 'node:fs';
    const [path, output] = process.argv.slice(1);
    for (let run = 0; run < 3; run += 1) {
      rmSync(output, { force: true });
      const image = await open(path);
      const start = performance.now();
      await image.convert(output);
      const took = performance.now() - start;
      await image.close();
      if (run === 2) { console.log(took); process.exit(); }
    }`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', program, path, OUT], { encoding: 'utf8' }),
  );
}

/** The most memory that a process of Node holds, in MiB: idle with workers ready, and after a conversion. */
function memory(path) {
  const program = `
    import { open } from ${JSON.stringify(join(root, 'dist', 'node.js'))};
    import { readFileSync, rmSync } from 'node:fs';
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
    const [first, path, output] = process.argv.slice(1);
    const small = await open(first);
    await small.convert(output);
    const idle = peak();
    rmSync(output);
    const image = await open(path);
    await image.convert(output);
    console.log(idle, peak());
    process.exit();`;
  const args = ['--input-type=module', '-e', program, empty('1M'), path, OUT];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split(' ').map(Number);
}

/** Bytes of the page's files whose names match, compressed by brotli. */
function wire(...patterns) {
  const folder = join(root, 'site', 'assets');
  const files = readdirSync(folder).filter((name) => patterns.some((pattern) => pattern.test(name)));
  const bytes = files.map((name) => brotliCompressSync(readFileSync(join(folder, name))).length);
  return bytes.reduce((sum, size) => sum + size, 0) / 1000;
}

function wasmOf(variant) {
  const size = statSync(join(root, 'dist', 'wasm', variant, 'index_bg.wasm')).size;
  const folder = join(root, 'site', 'assets');
  const name = readdirSync(folder).find((file) => file.endsWith('.wasm') && statSync(join(folder, file)).size === size);
  return brotliCompressSync(readFileSync(join(folder, name))).length / 1000;
}

async function limits(browser) {
  print('\n## Limits');
  const ms = (values) =>
    `${sorted(values)
      .map((value) => value.toFixed(0))
      .join(', ')} ms`;
  const repeat = async (work) => {
    const values = [];
    for (let run = 0; run < 3; run += 1) {
      settle();
      values.push(await work());
    }
    return values;
  };
  const rows = [];
  rows.push(['100 GiB, empty, Node, workers warm', ms(await repeat(() => warm(empty('100G'))))]);
  const large = median(await repeat(() => warm(sparse('8T', 80 * 2 ** 30))));
  const small = median(await repeat(() => warm(sparse('8G', 80 * 2 ** 20))));
  rows.push([
    '8 TiB with 100 MB of data, against 8 GiB, Node',
    `${(large / small).toFixed(2)} × (${large.toFixed(0)} and ${small.toFixed(0)} ms)`,
  ]);
  for (const kind of quick ? ['zlib'] : ['zlib', 'zstd', 'uncompressed']) {
    const [idle, peak] = memory(image(kind));
    settle();
    rows.push([
      `memory of Node, ${kind}: peak above idle`,
      `${(peak - idle).toFixed(0)} MiB (${idle.toFixed(0)} idle)`,
    ]);
  }
  const page = wire(/^index-.*\.(js|css)$/, /^coordinator\.browser/, /^pool\.browser/);
  rows.push([
    'page, wasm and JavaScript of a first conversion, plain, brotli',
    `${(page + wire(/^plain-(?!extras).*\.js$/) + wasmOf('plain')).toFixed(0)} KB`,
  ]);
  rows.push([
    'the same, threads',
    `${(page + wire(/^threads-(?!extras).*\.js$/, /^workerHelpers/) + wasmOf('threads')).toFixed(0)} KB`,
  ]);
  for (const engine of ['workers', 'threads']) {
    rows.push([
      `first call to the end of an empty conversion, fresh page, ${engine}`,
      ms(await repeat(() => browser.ready(engine))),
    ]);
  }
  table(['', ''], rows);
}

/** A cliff shows where a cell is much slower than its neighbours. */
function sweep() {
  print('\n## Sweep: Node, MB of disk a second, best of two runs, 256 MiB');
  const clusters = ['4k', '64k', '2M'];
  const workers = [1, 2, 4, 8];
  const rows = [];
  for (const kind of ['uncompressed', 'zlib', 'zstd']) {
    for (const share of [0, 50, 100]) {
      for (const cluster of clusters) {
        const path = cell(kind, share, cluster);
        const rate = (count) => {
          const run = () => {
            rmSync(OUT, { force: true });
            return timed(process.execPath, CLI, 'convert', '-m', String(count), path, OUT).real;
          };
          return (268 / Math.min(run(), run())).toFixed(0);
        };
        rows.push([kind, `${share} %`, cluster, ...workers.map(rate)]);
      }
    }
  }
  table(['stored', 'data', 'clusters', ...workers.map((count) => `${count} workers`)], rows);
}

const browser = await Browser.start();
const version = (program) => execFileSync(program, ['--version'], { encoding: 'utf8' }).split('\n')[0];
print('# What the benchmark has measured');
print();
print('Written by `npm run bench`; not edited.');
print();
print(
  `${new Date().toISOString().slice(0, 10)}, ${RUNS} runs. ${availableParallelism()} cores (${cpus()[0].model}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB. Node ${process.version}, Chromium ${browser.version || version('/usr/bin/chromium')}, ${version('qemu-img')}.`,
);
print('An ext4 of 3.5 GiB with about 2 GB of data; alternating runs, warm cache, a quiet disk before each.');
await conversions(browser);
await limits(browser);
await browser.stop();
if (!quick) sweep();
settle();
if (!quick) {
  writeFileSync(join(root, 'bench', 'RESULTS.md'), `${report.join('\n')}\n`);
  say('wrote bench/RESULTS.md');
}
