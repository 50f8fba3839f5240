// Beside rates: constant costs, memory, sizes, and how far two cores help.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync } from 'node:zlib';
import { root } from '../scripts/lib.mjs';
import { cell, empty, image, sparse } from './images.mjs';
import { median, OUT, print, quick, repeated, settle, sorted, table } from './report.mjs';

const API = JSON.stringify(join(root, 'dist', 'node.js'));

function runNode(program, ...args) {
  return execFileSync(process.execPath, ['--input-type=module', '-e', program, ...args], { encoding: 'utf8' });
}

/** How often what takes only a moment is measured: it differs much from run to run. */
const SHORT = 9;

/** Milliseconds that a conversion takes inside of a process whose workers are warm. */
function warm(path) {
  const program = `
    import { open } from ${API};
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
  return Number(runNode(program, path, OUT));
}

/** The most memory that a process of Node holds, in MiB: idle with workers ready, and after a conversion. */
function memory(path, workers = 2) {
  const program = `
    import { open } from ${API};
    import { readFileSync, rmSync } from 'node:fs';
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
    const [first, path, output] = process.argv.slice(1);
    const small = await open(first);
    await small.convert(output, { workers: ${workers} });
    const idle = peak();
    rmSync(output);
    const image = await open(path);
    await image.convert(output, { workers: ${workers} });
    console.log(idle, peak());
    process.exit();`;
  return runNode(program, empty('1M'), path, OUT).trim().split(' ').map(Number);
}

const assets = join(root, 'site', 'assets');
const compressed = (name) => brotliCompressSync(readFileSync(join(assets, name))).length / 1000;

/** Kilobytes of the page's files whose names match, compressed by brotli. */
function wire(...patterns) {
  const names = readdirSync(assets).filter((name) => patterns.some((pattern) => pattern.test(name)));
  return names.map(compressed).reduce((sum, size) => sum + size, 0);
}

/** The same of a build of the crate, whose name in the page is not its own. */
function wasmOf(variant) {
  const { size } = statSync(join(root, 'dist', 'wasm', variant, 'index_bg.wasm'));
  return compressed(
    readdirSync(assets).find((name) => name.endsWith('.wasm') && statSync(join(assets, name)).size === size),
  );
}

/** Milliseconds until `count` workers have each decoded `bytes`. */
async function decode(count, bytes) {
  const module = await WebAssembly.compile(readFileSync(join(root, 'dist', 'wasm', 'plain', 'index_bg.wasm')));
  const workers = Array.from({ length: count }, () => {
    return new Worker(new URL('decode-worker.mjs', import.meta.url), { workerData: { module, bytes } });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  let slowest = 0;
  // The first time compiles.
  for (let run = 0; run < 2; run += 1) {
    const answers = workers.map((worker) => once(worker, 'message'));
    for (const worker of workers) worker.postMessage('go');
    slowest = Math.max(...(await Promise.all(answers)).flat());
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  return slowest;
}

const milliseconds = (values) =>
  `${sorted(values)
    .map((value) => value.toFixed(0))
    .join(', ')} ms`;

async function emptyRows(browser) {
  const rows = [['100 GiB, empty, Node, workers warm', milliseconds(await repeated(() => warm(empty('100G'))))]];
  // The quota of the private storage counts the full length, and is a share of the disk.
  for (const size of ['100G', '10G']) {
    try {
      const times = await repeated(() => browser.warm(empty(size)));
      rows.push([`${size}iB, empty, Chromium to OPFS, workers warm`, milliseconds(times)]);
      break;
    } catch (error) {
      if (!String(error).includes('has room for')) throw error;
    }
  }
  return rows;
}

async function sparseRow() {
  const large = [];
  const small = [];
  await repeated(() => {
    large.push(warm(sparse('8T', 80 * 2 ** 30)));
    settle();
    small.push(warm(sparse('8G', 80 * 2 ** 20)));
  }, SHORT);
  const [of8T, of8G] = [median(large), median(small)];
  const ratio = `${(of8T / of8G).toFixed(2)} × (${of8T.toFixed(0)} and ${of8G.toFixed(0)} ms)`;
  return ['8 TiB with 100 MB of data, against 8 GiB, Node, workers warm', ratio];
}

async function memoryRows(browser) {
  const kinds = ['zlib', 'zstd', 'uncompressed'];
  const row = (where, kind, [idle, peak]) => {
    settle();
    return [`memory, ${where}, ${kind}: peak above idle`, `${(peak - idle).toFixed(0)} MiB (${idle.toFixed(0)} idle)`];
  };
  const rows = kinds.map((kind) => row('Node', kind, memory(image(kind))));
  rows.push(row('Node, 4 workers', 'zlib', memory(image('zlib'), 4)));
  for (const engine of ['workers', 'threads']) {
    for (const kind of kinds) {
      rows.push(row(`page's process, ${engine}`, kind, await browser.memory(empty('1M'), image(kind), engine)));
    }
  }
  return rows;
}

function pageRows() {
  const page = wire(/^index-.*\.(js|css)$/, /^worker\.browser/);
  const plain = page + wasmOf('plain');
  // The reader of metadata is a plain one.
  const threads = plain + wire(/^threads-(?!extras).*\.js$/, /^workerHelpers/) + wasmOf('threads');
  return [
    ['page, wasm and JavaScript of a first conversion, plain, brotli', `${plain.toFixed(0)} KB`],
    ['the same, threads', `${threads.toFixed(0)} KB`],
  ];
}

async function readyRows(browser) {
  const rows = [];
  for (const engine of ['workers', 'threads']) {
    rows.push([
      `first call to workers ready, fresh browser, ${engine}`,
      milliseconds(await repeated(() => browser.ready(engine), SHORT)),
    ]);
  }
  return rows;
}

async function scaling() {
  const bytes = readFileSync(cell('zlib', 100, '64k'));
  const ratios = await repeated(async () => (2 * (await decode(1, bytes))) / (await decode(2, bytes)));
  return ['decoding alone, 2 workers against 1', `${median(ratios).toFixed(2)} ×`];
}

export async function limits(browser) {
  print('\n## Limits');
  const rows = await emptyRows(browser);
  rows.push(await sparseRow());
  rows.push(...pageRows());
  if (!quick) {
    rows.push(...(await memoryRows(browser)));
    rows.push(...(await readyRows(browser)));
    rows.push(await scaling());
  }
  table(['', ''], rows);
}
