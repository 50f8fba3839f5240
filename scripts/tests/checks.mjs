// Checks the sources: formatters, linters, types, imports.

import { bin, say } from '../lib.mjs';
import { hasNoCycles } from './cycles.mjs';
import { cargo } from './rust.mjs';
import { check, count } from './tally.mjs';

export function checks() {
  const lint = ['--locked', '-p', 'decant', '-p', 'decant-codec', '--', '-D', 'warnings'];
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
  const threads = [bare, '--config', 'scripts/wasm-threads.toml'];
  const arguments_ = cargo('clippy', ...threads, '--features', 'threads,extras', ...wasm, ...lint);
  check('clippy, threads wasm', 'cargo', arguments_, { RUSTC_BOOTSTRAP: '1' });
  check('Biome', bin('biome'), ['ci', '.']);
  check('oxlint', bin('oxlint'), ['worker', 'element', 'web', 'examples', 'e2e', 'scripts', 'bench']);
  for (const part of ['worker', 'element', 'web', 'web/service-worker', 'e2e'])
    check(`tsc, ${part}`, bin('tsc'), ['-p', part, '--noEmit']);
  check('tsc, tests beside their sources', bin('tsc'), ['-p', 'tsconfig.tests.json']);
  check('tests beside their sources', bin('vitest'), ['run']);
  say('import cycles');
  count('import cycles', hasNoCycles() ? { passed: 1 } : { failed: 1 });
}
