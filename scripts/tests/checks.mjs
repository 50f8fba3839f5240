// Checks the sources: formatters, linters, types, imports.

import { bin, CRATES, say } from '../lib.mjs';
import { actionlint } from '../setup.mjs';
import { hasNoCycles } from './cycles.mjs';
import { cargo } from './rust.mjs';
import { check, count } from './tally.mjs';

const LINTED = ['decant', ...CRATES.map((name) => `decant-${name}`)].flatMap((name) => ['-p', name]);
const LINT = ['--locked', ...LINTED, '--', '-D', 'warnings'];
const WASM = ['--target', 'wasm32-unknown-unknown', '--target-dir', 'target/lint'];

/** Formats and lints of Rust, natively. */
export async function rustChecks() {
  await check('rustfmt', 'cargo', cargo('fmt', '--check'));
  await check('clippy', 'cargo', cargo('clippy', '--all-targets', ...LINT));
}

/** Lints of the wasm of each engine. `threads` needs a separately built standard library. */
export async function wasmChecks() {
  for (const [name, memory, features, env] of [
    ['workers', 'own', []],
    ['threads', 'shared', ['--features', 'threads'], { RUSTC_BOOTSTRAP: '1' }],
  ]) {
    const args = ['--config', `scripts/wasm-${memory}.toml`, ...features];
    await check(`clippy, wasm of ${name}`, 'cargo', cargo('clippy', ...args, ...WASM, ...LINT), env);
  }
}

/** The fuzz targets, which are a separate workspace, still compile. */
export async function fuzzChecks() {
  await check(
    'fuzz targets',
    'cargo',
    cargo('check', '--locked', '--manifest-path', 'crate/fuzz/Cargo.toml', '--bins', '--examples'),
  );
}

/** Checks .github/workflows. Never by shellcheck and pyflakes, which only some machines have. */
export async function workflowChecks() {
  const program = actionlint();
  if (program) await check('actionlint', program, ['-shellcheck=', '-pyflakes=']);
}

/** Formats, lints, types and import cycles of TypeScript and JavaScript. */
export async function scriptChecks() {
  await check('Biome', bin('biome'), ['ci', '.']);
  await check('oxlint', bin('oxlint'), ['worker', 'element', 'web', 'examples', 'e2e', 'scripts', 'bench']);
  for (const part of ['worker', 'element', 'web', 'web/service-worker', 'e2e'])
    await check(`tsc, ${part}`, bin('tsc'), ['-p', part, '--noEmit']);
  await check('tsc, tests beside their sources', bin('tsc'), ['-p', 'tsconfig.tests.json']);
  say('import cycles');
  count('import cycles', hasNoCycles() ? { passed: 1 } : { failed: 1 });
}
