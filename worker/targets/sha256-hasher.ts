// SHA-256 of bytes that come in pieces, by the code of `crypt.wasm`: Web Crypto digests whole inputs only.

import type { Instance } from 'decant-module';
import { outOfMemory } from '../errors/errors.js';

const LENGTH = 32;
/** Requests of `crate/crypt/src/request.rs`: a hasher for SHA-256, which becomes object 0; more bytes for it; its hash. */
const CREATE = Uint8Array.of(0, 1, 4);
const ADD = Uint8Array.of(1, 0, 1);
const HASH = Uint8Array.of(1, 0, 2);
const NONE = new Uint8Array(0);

export class Sha256 {
  /** `crypt` is an instance of `crypt.wasm` for this hasher alone. */
  constructor(private readonly crypt: Instance) {
    this.#serve(CREATE, NONE, new Uint8Array(4));
  }

  add(bytes: Uint8Array): void {
    this.#serve(ADD, bytes, NONE);
  }

  /** Ends it. Returns the digest. */
  end(): Uint8Array {
    const hash = new Uint8Array(LENGTH);
    this.#serve(HASH, NONE, hash);
    return hash;
  }

  #serve(request: Uint8Array, input: Uint8Array, output: Uint8Array): void {
    const result = this.crypt.serve(request, input, output, false);
    if (result === undefined || result < 0) throw outOfMemory(undefined, input.length);
  }
}
