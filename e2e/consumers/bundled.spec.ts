// Bundled programs for Node, with the packed package inside or beside them.

import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { CODEC_URLS } from '../../worker/public/registry.js';
import { run } from '../support/command.js';
import { build, project } from '../support/consumers/project.js';
import { expectSame, small } from '../support/images.js';

test.describe.configure({ timeout: 10 * 60_000 });

const ENVIRONMENT = { ...process.env, NODE_NO_WARNINGS: '1' };

/** Builds the program by the project's script, with `files` of the package beside it, and converts an image with it. */
async function convert(script: string, program: string, files: string[] = []) {
  const made = await project('bundled-for-node', ['bundled-for-node']);
  const folder = await build(made, script, script);
  const dist = join(made.folder, 'node_modules', 'decant', 'dist');
  for (const file of files) copyFileSync(join(dist, file), join(folder, file));
  const output = join(made.folder, `${script}.raw`);
  rmSync(output, { force: true });
  const ended = run(process.execPath, [join(folder, program), small.zstd(), output], { env: ENVIRONMENT });
  return { output, ...ended };
}

for (const [script, program] of [
  ['esbuild-external', 'convert.mjs'],
  ['ncc-external', 'index.mjs'],
  ['rollup-external', 'convert.mjs'],
  ['vite', 'convert.mjs'],
  ['webpack', 'main.js'],
  ['webpack-electron', 'main.js'],
] as const) {
  test(`${script}: converts`, { tag: '@long' }, async () => {
    const { output, ...ended } = await convert(script, program);
    expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
    expectSame(output, small.raw());
  });
}

for (const [script, program] of [
  ['configured-esbuild', 'configured.mjs'],
  ['configured-esbuild-cjs', 'configured.cjs'],
  ['configured-ncc', 'index.mjs'],
  ['configured-rollup', 'configured.mjs'],
  ['configured-vite', 'configured.mjs'],
] as const) {
  test(`${script}: converts with the package in it`, { tag: '@long' }, async () => {
    const { output, ...ended } = await convert(script, program, [
      'worker.node.mjs',
      'decant.wasm',
      ...Object.keys(CODEC_URLS).map((name) => `${name}.wasm`),
    ]);
    expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
    expectSame(output, small.raw());
  });
}

const NO_WASM = /^internal: Could not load [^\n]*\.wasm: [^\n]*configure\(\{ wasm \}\)\n$/;
const NO_WORKER = /^internal: Could not start a worker: [^\n]*configure\(\{ worker \}\)\n$/;

for (const [script, program, sentence] of [
  ['esbuild', 'convert.mjs', NO_WASM],
  ['esbuild-cjs', 'convert.cjs', NO_WORKER],
  ['ncc', 'index.mjs', NO_WASM],
  ['vite-bundled', 'convert.mjs', NO_WASM],
] as const) {
  test(`${script}: one sentence`, { tag: '@long' }, async () => {
    const { output, status, stderr } = await convert(script, program);
    expect(stderr).toMatch(sentence);
    expect(status).toBe(1);
    expect(existsSync(output)).toBe(false);
  });
}
