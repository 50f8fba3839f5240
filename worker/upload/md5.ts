// MD5 digests, with which servers check stored data.

import { createMD5, type IHasher } from 'hash-wasm';
import { nextTask } from '../errors/signals.js';

/** Bytes digested in one task: less than a millisecond, since other programs may interrupt it. */
const STEP = 256 << 10;

/** Faster by a third. */
const native = globalThis.process?.getBuiltinModule?.('node:crypto');

/** Reused hashers: each has a WebAssembly memory, and browsers allow few. */
const idle: IHasher[] = [];

interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

async function begin(): Promise<Hash> {
  if (native) return native.createHash('md5');
  const hasher = (idle.pop() ?? (await createMD5())).init();
  const digest = () => {
    idle.push(hasher);
    return hasher.digest('binary');
  };
  return { update: hasher.update, digest };
}

const ZEROS = new Uint8Array(STEP);
/** The largest part. */
const MAX_PENDING_ZEROS = 512 << 20;

/** A digest of successive pieces. */
export class Md5 {
  #hash: Promise<Hash> | undefined;
  /** Zeros not hashed yet. While a part has only zeros, there is no hash. */
  #zeros = 0;
  /** The last digest of zeros: holes make many parts of one size. */
  #ofZeros: { length: number; digest: Uint8Array } | undefined;

  async add(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await this.#addDueZeros();
    await this.#update(bytes.length, (at) => bytes.subarray(at, at + STEP));
  }

  async addZeros(length: number): Promise<void> {
    this.#zeros += length;
    if (this.#hash || this.#zeros > MAX_PENDING_ZEROS) await this.#addDueZeros();
  }

  /** Resolves to the digest of everything added since the last call. */
  async take(): Promise<Uint8Array> {
    if (!this.#hash) return this.#takeZeros();
    await this.#addDueZeros();
    const hash = await this.#hash;
    this.#hash = undefined;
    return hash.digest();
  }

  async #takeZeros(): Promise<Uint8Array> {
    const length = this.#zeros;
    if (this.#ofZeros?.length !== length) {
      await this.#addDueZeros();
      const hash = await this.#hasher();
      this.#hash = undefined;
      this.#ofZeros = { length, digest: hash.digest() };
    }
    this.#zeros = 0;
    return this.#ofZeros.digest;
  }

  async #addDueZeros(): Promise<void> {
    const due = this.#zeros;
    this.#zeros = 0;
    await this.#update(due, (at) => ZEROS.subarray(0, due - at));
  }

  /** Digests `length` bytes in steps; `step` returns the bytes at an offset. */
  async #update(length: number, step: (at: number) => Uint8Array): Promise<void> {
    const hash = await this.#hasher();
    for (let at = 0; at < length; at += STEP) {
      if (at > 0) await nextTask();
      hash.update(step(at));
    }
  }

  #hasher(): Promise<Hash> {
    this.#hash ??= begin();
    return this.#hash;
  }
}

export async function md5(bytes: Uint8Array): Promise<Uint8Array> {
  const digest = new Md5();
  await digest.add(bytes);
  return digest.take();
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
