// Errors for missing workers and wasm in Node.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { RpcClient } from '../messages/rpc.js';
import type { Codec } from '../public/types.js';
import { compile, configure, loadCodec, makeWorker, nodeWorker } from './node-files.js';

/** A module without functions. */
const EMPTY = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
const bytesOf = (codec: Codec) =>
  new Uint8Array(readFileSync(new URL(`../../target/wasm/${codec}/index_bg.wasm`, import.meta.url)));
const NOWHERE = pathToFileURL('/nowhere/there.mjs');
const notStarted = (reason: RegExp) => ({
  kind: 'internal',
  code: 'worker-not-started',
  fields: { script: 'worker.node.mjs' },
  message: expect.stringMatching(reason),
});

const start = (worker: Worker) => new RpcClient<{ none(): void }>(nodeWorker(worker)).call('none');

afterEach(() => configure({ worker: undefined, wasm: undefined, codec: undefined } as never));

test('a worker that cannot be made', () => {
  configure({
    worker: () => {
      throw new Error('no threads here');
    },
  });
  const reason = /^Could not start a worker: no threads here; .* configure\(\{ worker \}\)$/;
  expect(makeWorker).toThrow(expect.objectContaining(notStarted(reason)));
});

test('a worker whose script, or an import of it, is missing', async () => {
  const scripts = [NOWHERE, new URL(`data:text/javascript,import ${encodeURIComponent(`'${NOWHERE}'`)}`)];
  for (const script of scripts) {
    const reason = /^Could not start a worker: Cannot find module '\/nowhere\/there.mjs'.*configure\(\{ worker \}\)$/;
    await expect(start(new Worker(script))).rejects.toMatchObject(notStarted(reason));
  }
});

test('a worker that fails later', async () => {
  const error = { kind: 'internal', code: 'internal', message: expect.stringContaining('ended unexpectedly (broken)') };
  const script = new URL('data:text/javascript,throw new Error("broken")');
  await expect(start(new Worker(script))).rejects.toMatchObject(error);
});

test.each([
  ['a missing file', () => NOWHERE, String(NOWHERE), 'ENOENT'],
  ['a file that is not wasm', () => new URL(import.meta.url), import.meta.url, 'magic'],
  ['a function that rejects', () => Promise.reject(new Error('no such address')), 'decant.wasm', 'no such address'],
])('wasm from %s', async (_, wasm, place, reason) => {
  configure({ wasm });
  await expect(compile()).rejects.toMatchObject({
    kind: 'internal',
    code: 'wasm-not-loaded',
    fields: { place },
    message: expect.stringMatching(new RegExp(`^Could not load .*${reason}.*configure\\(\\{ wasm \\}\\)$`)),
  });
});

test.each([
  ['a missing file', () => NOWHERE, String(NOWHERE), 'ENOENT'],
  ['a file that is not wasm', () => new URL(import.meta.url), import.meta.url, 'magic'],
  ['other bytes', () => new Uint8Array(8), 'zstd.wasm', 'magic'],
  ['wasm without functions', () => EMPTY, 'zstd.wasm', 'not the zstd.wasm of this version'],
  ['wasm of another codec', () => bytesOf('crypt'), 'zstd.wasm', 'not the zstd.wasm of this version'],
  ['a function that rejects', () => Promise.reject(new Error('no such address')), 'zstd.wasm', 'no such address'],
])('a codec from %s', async (_, codec, place, reason) => {
  configure({ codec });
  await expect(loadCodec('zstd')).rejects.toMatchObject({
    kind: 'internal',
    code: 'wasm-not-loaded',
    fields: { place },
    message: expect.stringMatching(new RegExp(`^Could not load .*${reason}.*configure\\(\\{ codec \\}\\)$`)),
  });
});

test.each(['bzip2', 'crypt', 'deflate', 'lz4', 'xz', 'zstd'] as const)('the codec %s as bytes', async (name) => {
  const bytes = bytesOf(name);
  configure({ codec: () => bytes });
  expect(await loadCodec(name)).toBe(bytes);
});
