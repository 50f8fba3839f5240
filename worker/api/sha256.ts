// The SHA-256 of a file, by the code of `crypt.wasm`. Loaded when it is needed.

import { Instance } from 'decant-module';
import { cancelled, toDecantError } from '../errors/errors.js';
import { withListener } from '../errors/signals.js';
import { hexOf } from '../errors/values.js';
import type { Sha256Options } from '../public/types.js';
import { Sha256 } from '../targets/sha256-hasher.js';

/** Bytes for each read: digested in some milliseconds, so that a page stays responsive. */
const READ = 2 << 20;

/** The operation, for messages. */
const DIGESTING = 'Computing the digest';

/** Returns the digest of `file`. `wasm` is `crypt.wasm`. */
export async function sha256Of(file: Blob, wasm: Uint8Array, options: Sha256Options): Promise<string> {
  const { onProgress } = options;
  const { instance } = await WebAssembly.instantiate(wasm as Uint8Array<ArrayBuffer>);
  const hasher = new Sha256(new Instance('crypt', instance.exports));
  return withListener(
    options.signal,
    (fraction: number) => onProgress?.({ phase: 'digesting', fraction }),
    async (signal, report) => {
      for (let at = 0; at < file.size; at += READ) {
        if (signal.aborted) throw cancelled(DIGESTING, signal);
        hasher.add(await read(file, at));
        report(Math.min(at + READ, file.size) / file.size);
      }
      // The last report may have failed.
      if (signal.aborted) throw cancelled(DIGESTING, signal);
      return hexOf(hasher.end());
    },
  );
}

async function read(file: Blob, at: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(at, at + READ).arrayBuffer());
  } catch (thrown) {
    throw toDecantError(thrown, 'source', 'read the file');
  }
}
