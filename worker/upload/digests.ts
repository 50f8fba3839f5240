// MD5 digests of sent data, with which servers check stored data.

import { createMD5, type IHasher } from 'hash-wasm';
import { nextTask } from '../errors/signals.js';
import { hexOf } from '../errors/values.js';
import { bareEtag } from './responses.js';

/** Bytes digested in one task: less than a millisecond, since other programs may interrupt it. */
const STEP = 256 << 10;

/** Faster by a third. */
const native = globalThis.process?.getBuiltinModule?.('node:crypto');

export type MakeHasher = () => Promise<IHasher>;

/** Hashers for reuse, by their makers: each has a WebAssembly memory, and browsers allow few. */
const idle = new Map<MakeHasher, IHasher[]>();

interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

export async function beginHash(make: MakeHasher): Promise<Hash> {
  const unused = idle.get(make) ?? [];
  idle.set(make, unused);
  const hasher = (unused.pop() ?? (await make())).init();
  const digest = () => {
    unused.push(hasher);
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
    this.#hash ??= native ? Promise.resolve(native.createHash('md5')) : beginHash(createMD5);
    return this.#hash;
  }
}

export async function md5(bytes: Uint8Array): Promise<Uint8Array> {
  const digest = new Md5();
  await digest.add(bytes);
  return digest.take();
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Where servers state the MD5 digest of an object. */
const MD5_HEADERS = [
  (headers: Headers) => headers.get('Content-MD5'),
  (headers: Headers) => /md5=([\w+/=]+)/.exec(headers.get('x-goog-hash') ?? '')?.[1],
];

/** Whether `headers` of an object state that its MD5 digest is `digest`: as S3's ETag, or as other servers do. */
export function statesMd5(headers: Headers, digest: Uint8Array): boolean {
  const etag = bareEtag(headers.get('ETag') ?? '').toLowerCase();
  return etag === hexOf(digest) || MD5_HEADERS.some((md5In) => md5In(headers) === toBase64(digest));
}
