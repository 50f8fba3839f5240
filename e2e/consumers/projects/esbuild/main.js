import { configure } from 'decant';
import bzip2 from 'decant/bzip2.wasm';
import crypt from 'decant/crypt.wasm';
import wasm from 'decant/decant.wasm';
import deflate from 'decant/deflate.wasm';
import lz4 from 'decant/lz4.wasm';
import xz from 'decant/xz.wasm';
import zstd from 'decant/zstd.wasm';
import './app.js';

configure({
  // A second entry point, beside this file.
  worker: () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }),
  wasm: () => new URL(wasm, location.href),
  codec: (name) => new URL({ bzip2, crypt, deflate, lz4, xz, zstd }[name], location.href),
});
