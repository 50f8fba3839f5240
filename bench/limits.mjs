// Figures besides rates: constant costs, memory, sizes, and the speed-up by two cores.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { builds } from './arguments.mjs';
import { firstLoadRows } from './first-load.mjs';
import { firstWrite } from './first-write.mjs';
import { cell, empty, image, sparse } from './images.mjs';
import { median, OUT, print, repeatedPerBuild, settle, sorted, table } from './report.mjs';

/** Runs a program with `open` of a build, and with the arguments `args`. */
function runNode(build, program, ...args) {
  const source = `import { open } from ${JSON.stringify(build.package)}; const args = process.argv.slice(1); ${program}`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', source, ...args], { encoding: 'utf8' });
}

/** The number of runs of short measurements, which vary much. */
const SHORT = 9;

/** Milliseconds of a conversion inside a process with warm workers. */
function warm(build, path, { format = 'raw', formatOptions = {} } = {}) {
  const program = `
    import { rmSync } from 'node:fs';
    const [path, output] = args;
    for (let run = 0; run < 3; run += 1) {
      rmSync(output, { force: true });
      const image = await open(path);
      const start = performance.now();
      await image.convert(output, ${JSON.stringify({ format, formatOptions })});
      const took = performance.now() - start;
      await image.close();
      if (run === 2) { console.log(took); process.exit(); }
    }`;
  return Number(runNode(build, program, path, OUT));
}

/** Peak memory of a Node process, in MiB: idle with workers ready, and after a conversion. */
function memory(build, path, { workers = 2, format = 'raw', formatOptions } = {}) {
  const program = `
    import { readFileSync, rmSync } from 'node:fs';
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
    const [first, path, output] = args;
    const workers = ${workers};
    const options = ${JSON.stringify({ format, formatOptions })};
    const small = await open(first, { workers });
    await small.convert(output, options);
    const idle = peak();
    rmSync(output);
    const image = await open(path, { workers });
    await image.convert(output, options);
    console.log(idle, peak());
    process.exit();`;
  return runNode(build, program, empty('1M'), path, OUT).trim().split(' ').map(Number);
}

/** Milliseconds until `count` workers have each decoded `bytes`. */
async function decode(count, bytes) {
  const module = await WebAssembly.compile(readFileSync(builds[0].wasm.workers));
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

/** Times of each build in turn, as cells of a row. */
const timesOf = async (work, times = 3) => (await repeatedPerBuild(work, times)).map(milliseconds);

/** Outputs whose size depends on the data, or that are sparse. */
const SMALL_OUTPUTS = {
  raw: {},
  qcow2: { format: 'qcow2' },
  'compressed qcow2': { format: 'qcow2', formatOptions: { compress: 'on' } },
  'streamOptimized VMDK': { format: 'vmdk' },
  'dynamic VHD': { format: 'vpc', formatOptions: { subformat: 'dynamic' } },
  'fixed VHD': { format: 'vpc' },
  'dynamic VHDX': { format: 'vhdx' },
  'fixed VHDX': { format: 'vhdx', formatOptions: { subformat: 'fixed' } },
  'dynamic VDI': { format: 'vdi' },
  'fixed VDI': { format: 'vdi', formatOptions: { static: 'on' } },
  'raw.gz': { format: 'raw.gz' },
  'raw.zst': { format: 'raw.zst' },
  'raw.xz': { format: 'raw.xz' },
  'tar.gz': { format: 'tar.gz' },
  OVA: { format: 'ova' },
};

async function emptyRows(browser) {
  const rows = [];
  for (const [name, output] of Object.entries(SMALL_OUTPUTS)) {
    const times = await timesOf((build) => warm(build, empty('100G'), output));
    rows.push([`100 GiB, empty, to ${name}, Node, workers warm`, ...times]);
  }
  // The quota of the private storage is a share of the disk, and counts holes too.
  for (const size of ['100G', '10G']) {
    try {
      const times = await timesOf((build) => browser.warm(build, empty(size)));
      rows.push([`${size}iB, empty, Chromium to OPFS, workers warm`, ...times]);
      break;
    } catch (error) {
      if (!String(error).includes('has room for')) throw error;
    }
  }
  return rows;
}

async function sparseRow() {
  const both = await repeatedPerBuild((build) => {
    const large = warm(build, sparse('8T', 80 * 2 ** 30));
    settle();
    return [large, warm(build, sparse('8G', 80 * 2 ** 20))];
  }, SHORT);
  const cells = both.map((runs) => {
    const [of8T, of8G] = [0, 1].map((at) => median(runs.map((run) => run[at])));
    return `${(of8T / of8G).toFixed(2)} × (${of8T.toFixed(0)} and ${of8G.toFixed(0)} ms)`;
  });
  return ['8 TiB with 100 MB of data, against 8 GiB, Node, workers warm', ...cells];
}

/** The conversions whose memory is measured. */
const PAIRS = [
  ...['zlib', 'zstd', 'uncompressed', 'VMDK streamOptimized', 'VDI'].map((kind) => ({ kind, format: 'raw' })),
  ...['vpc', 'raw.gz', 'tar.gz', 'qcow2'].map((format) => ({ kind: 'zlib', format })),
  { kind: 'zlib', format: 'qcow2', formatOptions: { compress: 'on' } },
  { kind: 'zlib', format: 'qcow2', formatOptions: { compress: 'on', compression_type: 'zstd' } },
  { kind: 'zlib', format: 'vmdk' },
];

const named = ({ kind, format, formatOptions = {} }) => [kind, 'to', format, ...Object.values(formatOptions)].join(' ');

async function memoryRows(browser) {
  const row = async (where, measure) => {
    const cells = [];
    for (const build of builds) {
      settle();
      const [idle, peak] = await measure(build);
      cells.push(`${(peak - idle).toFixed(0)} MiB (${idle.toFixed(0)} idle)`);
    }
    return [`memory, ${where}: peak above idle`, ...cells];
  };
  const rows = [];
  for (const pair of PAIRS) {
    rows.push(await row(`Node, ${named(pair)}`, (build) => memory(build, image(pair.kind), pair)));
  }
  rows.push(await row('Node, 4 workers, zlib to raw', (build) => memory(build, image('zlib'), { workers: 4 })));
  for (const engine of ['workers', 'threads']) {
    for (const pair of PAIRS) {
      const measure = (build) => browser.memory(build, empty('1M'), image(pair.kind), engine, pair);
      rows.push(await row(`page's process, ${engine}, ${named(pair)}`, measure));
    }
  }
  return rows;
}

async function readyRows(browser) {
  const rows = [];
  for (const engine of ['workers', 'threads']) {
    rows.push([
      `first call to workers ready, fresh browser, ${engine}`,
      ...(await timesOf((build) => browser.ready(build, engine), SHORT)),
    ]);
  }
  return rows;
}

/** The page's first write, of the two steps apart: a person's click is between them. */
async function firstWriteRows() {
  const steps = builds.map(() => []);
  for (let run = 0; run < SHORT; run += 1) {
    for (const [at, { site }] of builds.entries()) {
      settle();
      steps[at].push(await firstWrite(site, image('zlib')));
    }
  }
  const row = (what, of) => [`page, fresh browser, ${what}`, ...steps.map((runs) => milliseconds(runs.map(of)))];
  return [
    row('from the drop until Convert can be clicked', ({ untilReady }) => untilReady),
    row('from the click to the first write', ({ untilWritten }) => untilWritten),
    row('both', ({ untilReady, untilWritten }) => untilReady + untilWritten),
  ];
}

/** Only for this build, since it calls internal functions. */
async function scaling() {
  const bytes = readFileSync(cell('zlib', 100, '64k'));
  const ratios = [];
  for (let run = 0; run < 3; run += 1) ratios.push((2 * (await decode(1, bytes))) / (await decode(2, bytes)));
  return ['decoding alone, 2 workers against 1', `${median(ratios).toFixed(2)} ×`, ...builds.slice(1).map(() => '')];
}

export async function limits(browser) {
  print('\n## Limits');
  const rows = await emptyRows(browser);
  rows.push(await sparseRow());
  rows.push(...firstLoadRows(builds));
  rows.push(...(await memoryRows(browser)));
  rows.push(...(await readyRows(browser)));
  rows.push(...(await firstWriteRows()));
  rows.push(await scaling());
  table(['', ...builds.map(({ name }) => name)], rows);
}
