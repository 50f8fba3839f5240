// The wasm of the crate, and its bindings, in target/wasm/. `node scripts/wasm.mjs NAME...` makes those that are named.

import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bindings } from './bundle.mjs';
import { bin, fail, isDone, root, run, say, unlessDone } from './lib.mjs';
import { compiler, rust, toolchain } from './setup.mjs';

/** zstd without its second decoder for literals, and without the one for far larger windows: as fast for clusters. */
const ZSTD = '-DHUF_FORCE_DECOMPRESS_X1=1 -DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT=1 -DZSTD_STRIP_ERROR_STRINGS=1';

const threads = {
  features: ['--features', 'threads'],
  cflags: `-msimd128 -mbulk-memory -matomics ${ZSTD}`,
  optimise: ['--enable-threads'],
};
const workers = {
  features: [],
  cflags: `-msimd128 -mbulk-memory ${ZSTD}`,
  optimise: [],
};
/** A std of our own: shared memory needs one with atomics, and one built for size spares a tenth of the wasm. */
const STD = ['-Z', 'build-std=std,panic_abort', '-Z', 'build-std-features=optimize_for_size'];
/** Nobody reads the message of a panic in wasm: without them there is 6 % less to load. */
const PANIC = ['-Z', 'panic-immediate-abort', '--config', 'profile.release.panic="immediate-abort"'];

/** The crate for each engine. */
const VARIANTS = { workers, threads };

/** Inlining repeats code in ways that brotli does not find again: without it there is less to load. */
const OPTIMISE = ['-O3', '--skip-pass=inlining-optimizing'];

const FEATURES = [
  'simd',
  'bulk-memory',
  'mutable-globals',
  'reference-types',
  'multivalue',
  'sign-ext',
  'nontrapping-float-to-int',
];

const cargo = (doing, args, env = {}) =>
  run(doing, 'cargo', [`+${toolchain()}`, ...args], {
    env: { ...process.env, ...env },
    todo: 'The compiler says above what is wrong.',
  });

function bindgen(input, output) {
  const target = join(root, 'target', 'bindgen');
  cargo('Building the binding generator', [
    'build',
    '-q',
    '--locked',
    '--manifest-path',
    'tools/bindgen/Cargo.toml',
    '--target-dir',
    target,
  ]);
  run('Generating the bindings', join(target, 'debug', 'bindgen'), [input, output]);
}

/**
 * Changes to wasm-bindgen-rayon's worker. Its threads run the script that the coordinator runs, so that it is one file
 * without imports. And a thread that fails rejects a promise that nobody sees: thrown, it reaches whoever started the
 * worker.
 */
function adaptWorkerHelpers(output) {
  const snippets = join(output, 'snippets');
  const changes = [
    [
      "  const pkg = await import('../../..');\n  await pkg.default(init);\n",
      '  pkg.initSync({ module: init.module_or_path, memory: init.memory });\n',
    ],
    ['function waitForMsgType', "import * as pkg from '../../../index.js';\n\nfunction waitForMsgType"],
    ["new URL('./workerHelpers.js', import.meta.url)", 'self.location.href'],
    [
      'pkg.wbg_rayon_start_worker(receiver);\n});',
      'pkg.wbg_rayon_start_worker(receiver);\n}).catch((error) => setTimeout(() => { throw error; }));',
    ],
  ];
  for (const folder of readdirSync(snippets)) {
    const file = join(snippets, folder, 'src', 'workerHelpers.js');
    let source = readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
    for (const [before, after] of changes) {
      if (!source.includes(before)) {
        fail(`${file} no longer has '${before}'.`, 'Adapt scripts/wasm.mjs to the new wasm-bindgen-rayon.');
      }
      source = source.replace(before, after);
    }
    writeFileSync(file, source);
  }
}

function make(name) {
  const { cflags, features, optimise } = VARIANTS[name];
  say(`building the wasm of the ${name} engine`);
  const target = join(root, 'target', name);
  const output = bindings(name);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  cargo(
    `Building the wasm of the ${name} engine`,
    [
      ...['build', '-q', '--locked', '--release', '-p', 'decant-wasm', '--lib', '--target', 'wasm32-unknown-unknown'],
      ...features,
      ...['--target-dir', target, '--config', `scripts/wasm-${name}.toml`, ...STD, ...PANIC],
    ],
    // Stable Rust builds its std only so.
    { RUSTC_BOOTSTRAP: '1', CFLAGS_wasm32_unknown_unknown: cflags },
  );
  bindgen(join(target, 'wasm32-unknown-unknown', 'release', 'decant_wasm.wasm'), output);
  const file = join(output, 'index_bg.wasm');
  const enabled = FEATURES.map((feature) => `--enable-${feature}`);
  run('Optimising the wasm', bin('wasm-opt'), [...OPTIMISE, ...enabled, ...optimise, file, '-o', file]);
  if (name === 'threads') adaptWorkerHelpers(output);
}

/** What all of it is made of. */
export const INPUTS = [
  'crate/src',
  'crate/Cargo.toml',
  'crate/codec',
  'crate/text',
  'crate/wasm',
  'Cargo.toml',
  'Cargo.lock',
  'rust-toolchain.toml',
  'tools/bindgen',
  ...['wasm.mjs', 'lib.mjs', 'wasm-workers.toml', 'wasm-threads.toml'].map((name) => `scripts/${name}`),
  'package-lock.json',
];

const NAMES = Object.keys(VARIANTS);

const stampOf = (name) => `wasm-${name}`;
const madeOf = (name) => ({ inputs: INPUTS, output: `target/wasm/${name}/index_bg.wasm` });

/** Makes what is not up to date, at the same time: a compiler that optimises a whole program uses one core. */
export async function wasm() {
  const due = NAMES.filter((name) => !isDone(stampOf(name), madeOf(name)));
  if (due.length === 0) return;
  compiler();
  rust();
  const statuses = await Promise.all(due.map(makeAside));
  // They have said what has failed.
  if (statuses.some((status) => status !== 0)) process.exit(1);
}

/** Makes `name` in a process of its own. Resolves to how that ended. */
function makeAside(name) {
  const script = fileURLToPath(import.meta.url);
  return new Promise((resolve) => spawn(process.execPath, [script, name], { stdio: 'inherit' }).on('close', resolve));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of process.argv.slice(2)) await unlessDone(stampOf(name), madeOf(name), () => make(name));
}
