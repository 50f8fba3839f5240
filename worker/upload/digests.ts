// Digests of sent data: MD5, with which servers check stored data, and the checksums in S3's responses (Amazon S3 User Guide,
// "Checking object integrity": base64 of the big-endian value).

import { createCRC32, createCRC64, createMD5, type IHasher } from 'hash-wasm';
import { nextTask } from '../errors/signals.js';
import { hexOf } from '../errors/values.js';
import { type Body, piecesOf } from './request-body.js';
import { bareEtag } from './responses.js';

/** Bytes digested in one task: less than a millisecond, since other programs may interrupt it. */
const STEP = 256 << 10;

/** Faster by a third. */
const native = globalThis.process?.getBuiltinModule?.('node:crypto');

/** Makers of hashers. CRCs have the names of S3, and are made by their reversed polynomials. */
const HASHERS = {
  md5: createMD5,
  crc32: () => createCRC32(0xedb88320),
  crc32c: () => createCRC32(0x82f63b78),
  crc64nvme: () => createCRC64('9a6c9329ac4bc9b5'),
};
type HasherName = keyof typeof HASHERS;

/** Hashers for reuse: each has a WebAssembly memory, and browsers allow few. */
const idle: Partial<Record<HasherName, IHasher[]>> = {};

interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

async function begin(name: HasherName): Promise<Hash> {
  idle[name] ??= [];
  const unused = idle[name];
  const hasher = (unused.pop() ?? (await HASHERS[name]())).init();
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
    this.#hash ??= native ? Promise.resolve(native.createHash('md5')) : begin('md5');
    return this.#hash;
  }
}

export async function md5(bytes: Uint8Array): Promise<Uint8Array> {
  const digest = new Md5();
  await digest.add(bytes);
  return digest.take();
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

const CRCS = ['crc32', 'crc32c', 'crc64nvme'] as const;
const SHAS: Record<string, string> = { sha1: 'SHA-1', sha256: 'SHA-256' };

const CHECKSUMS: Record<string, (body: Body) => Promise<Uint8Array | undefined>> = {
  ...Object.fromEntries(CRCS.map((name) => [name, (body) => crcOf(body, name)])),
  ...Object.fromEntries(Object.entries(SHAS).map(([name, sha]) => [name, (body) => shaOf(body, sha)])),
};

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

/** Whether `body` matches the checksum in `headers`; `undefined` if they have none of a known kind. */
export async function matchesChecksum(headers: Headers, body: Body): Promise<boolean | undefined> {
  for (const [name, digestOf] of Object.entries(CHECKSUMS)) {
    const stated = headers.get(`x-amz-checksum-${name}`);
    const digest = stated === null ? undefined : await digestOf(body);
    if (digest) return toBase64(digest) === stated;
  }
  return undefined;
}

/** `undefined` in an insecure context, which has no `crypto.subtle`. */
async function shaOf(body: Body, name: string): Promise<Uint8Array | undefined> {
  const bytes = body instanceof Blob ? await body.arrayBuffer() : body;
  const digest = await globalThis.crypto.subtle?.digest(name, bytes);
  return digest && new Uint8Array(digest);
}

async function crcOf(body: Body, name: HasherName): Promise<Uint8Array> {
  const hash = await begin(name);
  for await (const piece of piecesOf(body)) {
    hash.update(piece);
    await nextTask();
  }
  return hash.digest();
}
