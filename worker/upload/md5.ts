// MD5 digests, by which servers tell what they have stored.

import { createMD5, type IHasher } from 'hash-wasm';

/** So many bytes are digested before others get their turn. */
const STEP = 1 << 20;

/** Node's own is faster by a third. */
const native = globalThis.process?.getBuiltinModule?.('node:crypto');

/** Those that are not in use. Each has a WebAssembly memory, and a browser has room for few at once. */
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
/** A part has no more. */
const MAX_PENDING_ZEROS = 512 << 20;

/** A digest of what comes in pieces. */
export class Md5 {
  #hash: Promise<Hash> | undefined;
  /** Zeros that the hash does not have yet: there is none while nothing else has come. */
  #zeros = 0;
  /** The digest of zeros that was asked for last: holes make many parts of one size. */
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

  /** The digest of all that was added since the last call. */
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
      const hash = await this.#begun();
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

  /** Digests `length` bytes by steps; `step` returns those from an offset on. */
  async #update(length: number, step: (at: number) => Uint8Array): Promise<void> {
    const hash = await this.#begun();
    for (let at = 0; at < length; at += STEP) {
      if (at > 0) await new Promise((next) => setTimeout(next));
      hash.update(step(at));
    }
  }

  #begun(): Promise<Hash> {
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
