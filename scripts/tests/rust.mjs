// Runs the core's tests: natively, and with words of 32 bits.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fail, root } from '../lib.mjs';
import { rustTarget, toolchain } from '../setup.mjs';
import { count, start, took } from './tally.mjs';

/** A target with words of 32 bits, as wasm32 has them. */
const NARROW = 'i686-unknown-linux-musl';
/** All modules of tests except the matrices, whose images are large. These cover every value that the matrices combine. */
const NARROW_TESTS = [
  ...['formats', 'hostile', 'deflate', 'inflate', 'chains', 'salvage', 'zstd', 'reads'],
  ...['vdi', 'vhd', 'vhdx', 'vmdk', 'vmdk_footer', 'qed', 'parallels', 'encode', 'tar', 'zip'],
];
/** The modules of tests that a scope leaves out. */
const LEFT_OUT = { short: ['full::', 'long::'], full: ['long::'], long: [] };

export const cargo = (...args) => [`+${toolchain()}`, ...args];

/** Tests that run up to two million random inputs each in the long scope, or make a hundred thousand random images. */
const RANDOM = ['corpus::', 'random_changes_do_no_harm', 'random_disks_come_back'];

/** Runs all tests of the scope that `env` states; in the long scope without those of `randomRustTests`. */
export function rustTests(env) {
  const elsewhere = env.DECANT_TESTS === 'long' ? RANDOM : [];
  const skipped = [...LEFT_OUT[env.DECANT_TESTS], ...elsewhere].flatMap((name) => ['--skip', name]);
  return run('Rust tests', ['--', ...skipped], env);
}

/** Runs the tests with many random inputs. */
export const randomRustTests = (env) => run('Rust tests with random inputs', ['-p', 'decant', '--', ...RANDOM], env);

/**
 * Runs all tests except the matrices with words of 32 bits, in the scope that `env` states. Those with random changes run in the scope of
 * `fewer`: such words make them slower, and the many rounds of the long scope run natively.
 */
export async function narrowRustTests(env, fewer) {
  for (const name of NARROW_TESTS) {
    const [file, folder] = [`${name}.rs`, join(name, 'mod.rs')].map((path) => join(root, 'crate', 'tests', path));
    if (!existsSync(file) && !existsSync(folder))
      fail(`There are no tests '${name}'.`, 'Adapt scripts/tests/rust.mjs.');
  }
  const tests = NARROW_TESTS.map((name) => `${name}::`);
  const corpus = ['--lib', '--test', 'fuzzed', '--', '--skip', 'allocations::'];
  await runNarrow('Rust tests of modules and of the corpus, 32 bits', corpus, env);
  const random = RANDOM.flatMap((name) => ['--skip', name]);
  await runNarrow('Rust tests, 32 bits', ['--test', 'all', '--', ...tests, ...random], env);
  await runNarrow('Rust tests with random changes, 32 bits', ['--test', 'all', '--', ...RANDOM], fewer);
}

async function runNarrow(name, args, env) {
  rustTarget(NARROW);
  const include = (folder) => `-I${folder}`;
  const flags = [
    '--target=i686-linux-gnu',
    include('/usr/include/x86_64-linux-gnu'),
    include(join(root, 'scripts', 'i686')),
  ];
  const narrow = { ...env, CC_i686_unknown_linux_musl: 'clang', CFLAGS_i686_unknown_linux_musl: flags.join(' ') };
  await run(name, ['--target', NARROW, '--config', 'scripts/i686.toml', ...args], narrow);
}

/** Lets the test runner, but not the compiler, report the time of each test: an unstable feature. */
const REPORTING = ['--config', `target.'cfg(all())'.runner = ['env', 'RUSTC_BOOTSTRAP=1']`];
const REPORT = ['-Zunstable-options', '--report-time'];

/** Runs `cargo test`. `args` has a `--`, followed by the arguments for the test runner. */
async function run(name, args, env) {
  const command = cargo('test', '--locked', '--no-fail-fast', ...REPORTING, ...args, ...REPORT);
  const { ok, stdout, seconds } = await start(name, 'cargo', command, { env });
  for (const [, module, time] of stdout.matchAll(/^test (\w+)(?:::\w+)* .*<([\d.]+)s>$/gm))
    took(`Rust: ${module}`, Number(time));
  const results = [...stdout.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)];
  const sum = (at) => results.reduce((so_far, result) => so_far + Number(result[at]), 0);
  // An ignored test counts as failed, as does an aborted runner.
  const failed = sum(2) + sum(3);
  count(name, { passed: sum(1), failed: failed === 0 && (!ok || results.length === 0) ? 1 : failed, seconds });
}
