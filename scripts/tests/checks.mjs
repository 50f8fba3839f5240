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
  const bare = ['--no-default-features', '--config'];
  // The build between the two, with extras and without threads, has no code of its own.
  check('clippy, plain wasm', 'cargo', cargo('clippy', ...bare, 'scripts/wasm-plain.toml', ...wasm, ...lint));
  const threads = [...bare, 'scripts/wasm-threads.toml', '--features', 'threads,extras'];
  check('clippy, threads wasm', 'cargo', cargo('clippy', ...threads, ...wasm, ...lint), { RUSTC_BOOTSTRAP: '1' });
  check('Biome', bin('biome'), ['ci', '.']);
  check('oxlint', bin('oxlint'), ['worker', 'element', 'web', 'examples', 'e2e', 'scripts', 'bench']);
  for (const part of ['worker', 'element', 'web', 'web/service-worker', 'e2e'])
    check(`tsc, ${part}`, bin('tsc'), ['-p', part, '--noEmit']);
  say('import cycles');
  count('import cycles', hasNoCycles() ? { passed: 1 } : { failed: 1 });
}
