// `crypt.wasm` without the core: for Node, and for pages as a bundle.

import type { CryptExports } from '../../worker/worker-side/crypt-platform.js';

export { settled, usePlatform as useBrowser } from '../../worker/worker-side/browser-crypt.js';

interface Exports extends CryptExports {
  buffer(length: number): number;
  crypt(request: number, input: number, output: number): number;
}

/** A number as in a request (`crate/crypt/src/request.rs`). */
export function encoded(number: bigint | number): number[] {
  const value = BigInt(number);
  return value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...encoded(value >> 7n)];
}

/** The numbers in `bytes`, as `encoded` encodes them. */
export function decoded(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let [number, unit] = [0, 1];
  for (const byte of bytes) {
    number += (byte & 127) * unit;
    unit *= 128;
    if (byte >= 128) continue;
    numbers.push(number);
    [number, unit] = [0, 1];
  }
  return numbers;
}

/** The operations of a cipher. */
const [DECRYPT, BEGIN] = [0, 4];

/** Sectors, and the number of the first. */
export type Sectors = [first: bigint, input: Uint8Array];

export class CryptModule {
  readonly #exports: Exports;

  /** Without `use`, all is done by the module. */
  constructor(module: WebAssembly.Module, use?: (exports: CryptExports) => void) {
    this.#exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    use?.(this.#exports);
  }

  serve(request: number[], input: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
    const start = request.length + input.length;
    const at = this.#exports.buffer(start + length);
    const sent = new Uint8Array(this.#exports.memory.buffer, at, start);
    sent.set(request);
    sent.set(input, request.length);
    const written = this.#exports.crypt(request.length, input.length, length);
    if (written < 0) throw new Error(`the module answered ${written}`);
    return new Uint8Array(this.#exports.memory.buffer, at + start, written).slice();
  }

  /** Creates a cipher, decrypts `inputs`, and frees the cipher. */
  decrypted(key: Uint8Array, inputs: Sectors[]): Uint8Array[] {
    const [number] = this.serve([0, 0], key, 4);
    const outputs = inputs.map(([first, input]) => this.#decrypted(number!, first, input, 0));
    this.serve([2, number!], new Uint8Array(), 0);
    return outputs;
  }

  /** As `decrypted`, but begins all of them before it takes the first; the platform has its key by then. */
  async decryptedAside(
    key: Uint8Array,
    inputs: Sectors[],
    settled: (begun: number) => Promise<void>,
  ): Promise<Uint8Array[]> {
    const [number] = this.serve([0, 0], key, 4);
    await new Promise((done) => setTimeout(done, 20));
    const begun = inputs.map(([first, input]) => {
      return new Int32Array(this.serve([1, number!, BEGIN, ...encoded(first)], input, 4).buffer)[0]!;
    });
    const outputs: Uint8Array[] = [];
    for (const [at, [first, input]] of inputs.entries()) {
      const one = Math.max(0, begun[at]!);
      if (one > 0) await settled(one);
      outputs.push(this.#decrypted(number!, first, input, one));
    }
    this.serve([2, number!], new Uint8Array(), 0);
    return outputs;
  }

  /** Decrypts `input` by cipher `number`. `begun`: what `BEGIN` returned for it, or 0. */
  #decrypted(number: number, first: bigint, input: Uint8Array, begun: number): Uint8Array {
    // Signed numbers are encoded in zigzag.
    return this.serve([1, number, DECRYPT, ...encoded(first), ...encoded(2 * begun)], input, input.length);
  }
}

/** An encoded cipher with its key (`crate/crypt/src/spec.rs`): AES in `mode`. */
export function cipher(mode: number, iv: number, sector: number, offset: bigint, key: Uint8Array): Uint8Array {
  const [essiv, sha256] = [2, 4];
  const hash = iv === essiv ? [sha256] : [];
  return Uint8Array.of(0, mode, iv, ...hash, ...encoded(sector), ...encoded(offset), ...key);
}
