// Checks a part against checksums in S3's response, if its ETag is not a digest. Amazon S3 User Guide, "Checking object
// integrity": base64 of the big-endian value.

import { createCRC32, createCRC64, type IHasher } from 'hash-wasm';
import { nextTask } from '../calls/next-task.js';
import { toBase64 } from './md5.js';
import { type Body, piecesOf } from './request-body.js';

/** CRCs, by their reversed polynomials. */
const CRCS: Record<string, () => Promise<IHasher>> = {
  crc32: () => createCRC32(0xedb88320),
  crc32c: () => createCRC32(0x82f63b78),
  crc64nvme: () => createCRC64('9a6c9329ac4bc9b5'),
};
const SHAS: Record<string, string> = { sha1: 'SHA-1', sha256: 'SHA-256' };

const DIGESTS: Record<string, (body: Body) => Promise<Uint8Array | undefined>> = {
  ...Object.fromEntries(Object.keys(CRCS).map((name) => [name, (body) => crcOf(body, name)])),
  ...Object.fromEntries(Object.entries(SHAS).map(([name, sha]) => [name, (body) => shaOf(body, sha)])),
};

/** Whether `body` matches the checksum in `headers`; `undefined` if they have none of a known kind. */
export async function matchesChecksum(headers: Headers, body: Body): Promise<boolean | undefined> {
  for (const [name, digestOf] of Object.entries(DIGESTS)) {
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

/** Reused hashers: each has a WebAssembly memory, and browsers allow few. */
const idle: Record<string, IHasher[]> = {};

async function crcOf(body: Body, name: string): Promise<Uint8Array> {
  idle[name] ??= [];
  const hasher = (idle[name].pop() ?? (await CRCS[name]!())).init();
  for await (const piece of piecesOf(body)) {
    hasher.update(piece);
    await nextTask();
  }
  idle[name].push(hasher);
  return hasher.digest('binary');
}
