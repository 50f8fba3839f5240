// `npm test`: installs what tests need, runs everything, and ends with one line, "N passed, N
// failed". `npm run test:long` runs whole matrices where `npm test` runs samples.

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { bin, root, say } from './lib.mjs';
import { compiler, rust, rustTarget, testPrograms, toolchain } from './setup.mjs';

/** As wide as wasm32. */
const NARROW = 'i686-unknown-linux-musl';
const NARROW_TESTS = ['fields', 'hostile', 'chains', 'salvage', 'zstd', 'reads', 'corpus'];

const long = process.argv.includes('--long');
const env = { ...process.env, ...(long ? { DECANT_LONG: '1' } : {}) };
const total = { passed: 0, failed: 0 };

function count(name, { passed = 0, failed = 0 }) {
  total.passed += passed;
  total.failed += failed;
  if (failed > 0) say(`FAILED: ${name}`);
}

/** Runs a command and returns whether it succeeded, and what it printed (if `capture`). */
function start(name, command, args, capture = false) {
  say(name);
  const stdio = ['ignore', capture ? 'pipe' : 'inherit', 'inherit'];
  const { status, stdout } = spawnSync(command, args, { cwd: root, env, stdio, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (capture) process.stdout.write(stdout ?? '');
  return { ok: status === 0, stdout: stdout ?? '' };
}

/** A check is one test. */
function check(name, command, args) {
  const { ok } = start(name, command, args);
  count(name, ok ? { passed: 1 } : { failed: 1 });
}

const cargo = (...args) => [`+${toolchain()}`, ...args];

function rustTests(name, ...args) {
  const { ok, stdout } = start(name, 'cargo', cargo('test', '--locked', '--no-fail-fast', ...args), true);
  const results = [...stdout.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)];
  const sum = (at) => results.reduce((so_far, result) => so_far + Number(result[at]), 0);
  // What is ignored was not run, and a runner that broke off counts as a failure itself.
  const failed = sum(2) + sum(3);
  count(name, { passed: sum(1), failed: failed === 0 && (!ok || results.length === 0) ? 1 : failed });
}

function playwright() {
  const name = 'Playwright';
  const report = join(root, '.cache', 'playwright.json');
  rmSync(report, { force: true });
  const { ok } = start(name, bin('playwright'), ['test', '-c', 'e2e']);
  try {
    const { expected, unexpected, skipped, flaky } = JSON.parse(readFileSync(report, 'utf8')).stats;
    const failed = unexpected + skipped + flaky;
    count(name, { passed: expected, failed: failed === 0 && !ok ? 1 : failed });
  } catch {
    count(name, { failed: 1 });
  }
}

let complete = false;
// Also where set-up or a build has ended the script.
process.on('exit', () => {
  if (!complete) total.failed += 1;
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
});

await build();
compiler();
rust();
testPrograms();
rustTarget(NARROW);

const lint = ['--locked', '-p', 'decant', '--', '-D', 'warnings'];
const wasm = ['--target', 'wasm32-unknown-unknown', '--target-dir', 'target/lint'];
check('rustfmt', 'cargo', cargo('fmt', '--check'));
check('clippy', 'cargo', cargo('clippy', '--all-targets', ...lint));
const bare = '--no-default-features';
const plain = ['--config', 'scripts/wasm-plain.toml', bare];
for (const [name, features] of [
  ['plain', []],
  ['plain-extras', ['--features', 'extras']],
]) {
  check(`clippy, ${name} wasm`, 'cargo', cargo('clippy', ...plain, ...features, ...wasm, ...lint));
}
const threads = [bare, '-Z', 'build-std=std,panic_abort', '--config', 'scripts/wasm-threads.toml'];
env.RUSTC_BOOTSTRAP = '1';
check('clippy, threads wasm', 'cargo', cargo('clippy', ...threads, '--features', 'threads,extras', ...wasm, ...lint));
delete env.RUSTC_BOOTSTRAP;
check('Biome', bin('biome'), ['ci', '.']);
for (const part of ['worker', 'web', 'e2e']) check(`tsc, ${part}`, bin('tsc'), ['-p', part, '--noEmit']);
rustTests('Rust tests');
const include = (folder) => `-I${folder}`;
env.CC_i686_unknown_linux_musl = 'clang';
env.CFLAGS_i686_unknown_linux_musl = [
  '--target=i686-linux-gnu',
  include('/usr/include/x86_64-linux-gnu'),
  include(join(root, 'scripts', 'i686')),
].join(' ');
// All but the matrices: their images are large, and what they are made of is in the others.
const narrow = ['--target', NARROW, '--config', 'scripts/i686.toml'];
rustTests('Rust tests, 32 bits', ...narrow, '--lib', ...NARROW_TESTS.flatMap((name) => ['--test', name]));
playwright();

complete = true;
