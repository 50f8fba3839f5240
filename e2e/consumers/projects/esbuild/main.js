import { configure } from 'decant';
import crypt from 'decant/crypt.wasm';
import wasm from 'decant/decant.wasm';
import deflate from 'decant/deflate.wasm';
import zstd from 'decant/zstd.wasm';
import './app.js';

configure({
  // A second entry point, beside this file.
  worker: () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }),
  wasm: () => new URL(wasm, location.href),
  codec: (name) => new URL({ crypt, deflate, zstd }[name], location.href),
});
