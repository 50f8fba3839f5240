// The SHA-256 of a file, by the code of `crypt.wasm`. Loaded when it is needed.

import { Instance } from 'decant-module';
import { hexOf } from '../calls/hex.js';
import { cancelled, outOfMemory, toDecantError } from '../errors/errors.js';
import type { DigestOptions } from '../public/types.js';

/** Bytes for each read: digested in some milliseconds, so that a page stays responsive. */
const READ = 2 << 20;
const LENGTH = 32;
/** Requests of `crate/crypt/src/request.rs`: a hasher for SHA-256, which becomes object 0; more bytes for it; its hash. */
const CREATE = Uint8Array.of(0, 1, 4);
const ADD = Uint8Array.of(1, 0, 1);
const HASH = Uint8Array.of(1, 0, 2);
const NONE = new Uint8Array(0);

/** Returns the digest of `file`. `wasm` is `crypt.wasm`. */
export async function sha256Of(file: Blob, wasm: Uint8Array, options: DigestOptions): Promise<string> {
  const { signal, onProgress } = options;
  const { instance } = await WebAssembly.instantiate(wasm as Uint8Array<ArrayBuffer>);
  const module = new Instance('crypt', instance.exports);
  const serve = (request: Uint8Array, input: Uint8Array, output: Uint8Array) => {
    const result = module.serve(request, input, output, false);
    if (result === undefined || result < 0) throw outOfMemory(undefined, READ);
  };
  serve(CREATE, NONE, new Uint8Array(4));
  for (let at = 0; at < file.size; at += READ) {
    if (signal?.aborted) throw cancelled();
    serve(ADD, await read(file, at), NONE);
    onProgress?.(Math.min(at + READ, file.size) / file.size);
  }
  const hash = new Uint8Array(LENGTH);
  serve(HASH, NONE, hash);
  return hexOf(hash);
}

async function read(file: Blob, at: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(at, at + READ).arrayBuffer());
  } catch (thrown) {
    throw toDecantError(thrown, 'source', 'read the file');
  }
}
