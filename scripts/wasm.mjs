// Builds the crate's wasm and its bindings in target/wasm/. `node scripts/wasm.mjs NAME...` builds the named ones.

import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bindings } from './bundle.mjs';
import { bin, CRATES, fail, isDone, root, run, say, unlessDone } from './lib.mjs';
import { nameInOrder } from './order-functions.mjs';
import { compiler, rust, toolchain } from './setup.mjs';

/** Inlining repeats code in ways that brotli does not compress: without it there is less to load. */
const OPTIMISE = ['-O3', '--skip-pass=inlining-optimizing'];
/** For the core, brotli loses more by these passes than they save. Conversions are as fast without them. */
const SKIPPED = ['local-cse', 'memory-packing', 'simplify-locals', 'ssa-nomerge'].map((pass) => `--skip-pass=${pass}`);
const OF_CORE = [...SKIPPED, '--reorder-functions-by-name'];

/** Each codec has less to keep on its stack than the linker gives it by default, 1 MiB. The table of one can take functions of the platform. */
const OF_CODEC = ['-zstack-size=262144', '--export-table', '--growable-table'].map((flag) => `-Clink-arg=${flag}`);

/** The names of codecs: crates that are a module of WebAssembly with the feature `direct`. */
const CODECS = CRATES.filter((name) =>
  readFileSync(join(root, 'crate', name, 'Cargo.toml'), 'utf8').includes('\ndirect ='),
);

/**
 * Each wasm: its crate, its `memory` (its flags are in scripts/wasm-MEMORY.toml), the flags of its linker, and whether JavaScript uses
 * it by generated bindings.
 */
const VARIANTS = {
  workers: { crate: 'decant', memory: 'own', optimise: OF_CORE, hasBindings: true },
  threads: {
    crate: 'decant',
    memory: 'shared',
    features: ['--features', 'threads'],
    optimise: [...OF_CORE, '--enable-threads'],
    hasBindings: true,
  },
  ...Object.fromEntries(
    CODECS.map((name) => [
      name,
      { crate: `decant-${name}`, memory: 'own', features: ['--features', 'direct'], link: OF_CODEC },
    ]),
  ),
};

/** The wasm of the package: for each build, the name of its file. */
export const FILES = {
  workers: 'decant.wasm',
  threads: 'threads.wasm',
  ...Object.fromEntries(CODECS.map((name) => [name, `${name}.wasm`])),
};

/** Builds the standard library: shared memory needs atomics, and a build for size saves a tenth of the wasm. */
const STD = [
  ...['-Z', 'build-std=std,panic_abort', '-Z', 'build-std-features=optimize_for_size'],
  // Not in Cargo.toml: other builds do not compile these, and would warn. `compiler_builtins`, which compares bytes, is for speed.
  ...['alloc', 'core', 'dlmalloc', 'hashbrown', 'std'].flatMap((name) => [
    '--config',
    `profile.release.package.${name}.opt-level="z"`,
  ]),
];
/** Panics abort without a message, which no one would read: 6 % less to load. */
const PANIC = ['-Z', 'panic-immediate-abort', '--config', 'profile.release.panic="immediate-abort"'];

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

/** Makes `changes` to a generated `file`: pairs of a text and its replacement. Ends the script if a text is not there. */
function adapt(file, changes) {
  let source = readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
  for (const [before, after] of changes) {
    if (!source.includes(before)) {
      fail(`${file} no longer has '${before}'.`, 'Adapt scripts/wasm.mjs to its new version.');
    }
    source = source.replace(before, after);
  }
  writeFileSync(file, source);
}

/** Leaves out the asynchronous start of an instance, which no one calls. */
const WITHOUT_START = [['export { initSync, __wbg_init as default };', 'export { initSync };']];

/** The folder of what is compiled for a kind of memory. One compiler at a time works in it. */
const folderOf = (memory) => join(root, 'target', `${memory}-memory`);

function make(name) {
  const { crate, memory, features = [], link = [], optimise = [], hasBindings } = VARIANTS[name];
  const what = `the wasm of ${name}`;
  say(`building ${what}`);
  const target = folderOf(memory);
  const output = bindings(name);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  cargo(
    `Building ${what}`,
    [
      ...[
        'rustc',
        '-q',
        '--locked',
        '--release',
        '-p',
        crate,
        '--lib',
        '--crate-type',
        'cdylib',
        '--target',
        'wasm32-unknown-unknown',
      ],
      ...features,
      ...['--target-dir', target, '--config', `scripts/wasm-${memory}.toml`, ...STD, ...PANIC],
      ...['--', ...link],
    ],
    // Stable Rust builds its standard library only with this.
    { RUSTC_BOOTSTRAP: '1' },
  );
  const built = join(target, 'wasm32-unknown-unknown', 'release', `${crate.replaceAll('-', '_')}.wasm`);
  const file = join(output, 'index_bg.wasm');
  if (hasBindings) {
    bindgen(built, output);
    adapt(join(output, 'index.js'), WITHOUT_START);
    nameInOrder(file);
  } else copyFileSync(built, file);
  const enabled = FEATURES.map((feature) => `--enable-${feature}`);
  run('Optimising the wasm', bin('wasm-opt'), [...OPTIMISE, ...enabled, ...optimise, file, '-o', file]);
}

/** The sources of all builds. */
export const INPUTS = [
  'crate/src',
  'crate/Cargo.toml',
  ...CRATES.map((name) => `crate/${name}`),
  'Cargo.toml',
  'Cargo.lock',
  'rust-toolchain.toml',
  'tools/bindgen',
  ...['wasm.mjs', 'order-functions.mjs', 'lib.mjs'].map((name) => `scripts/${name}`),
  ...['own', 'shared'].map((name) => `scripts/wasm-${name}.toml`),
  'package-lock.json',
];

const NAMES = Object.keys(VARIANTS);

const stampOf = (name) => `wasm-${name}`;
const madeOf = (name) => ({ inputs: INPUTS, output: `target/wasm/${name}/index_bg.wasm` });

/**
 * Builds all outdated wasm. Those with the same kind of memory are compiled one after another, so that they share a standard library;
 * the kinds concurrently, since a compiler that optimises a whole program uses one core.
 */
export async function wasm() {
  const due = NAMES.filter((name) => !isDone(stampOf(name), madeOf(name)));
  if (due.length === 0) return;
  compiler();
  rust();
  const kinds = ['own', 'shared'].map((memory) => due.filter((name) => VARIANTS[name].memory === memory));
  const statuses = await Promise.all(kinds.filter(({ length }) => length > 0).map(makeAside));
  // The processes have reported their failures.
  if (statuses.some((status) => status !== 0)) process.exit(1);
}

/** Builds `names` in a separate process. Resolves to its exit status. */
function makeAside(names) {
  const script = fileURLToPath(import.meta.url);
  return new Promise((resolve) =>
    spawn(process.execPath, [script, ...names], { stdio: 'inherit' }).on('close', resolve),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of process.argv.slice(2)) await unlessDone(stampOf(name), madeOf(name), () => make(name));
}
