// The checksums in S3's responses (Amazon S3 User Guide, "Checking object integrity": base64 of the big-endian value).

import { createCRC32, createCRC64 } from 'hash-wasm';
import { nextTask } from '../errors/signals.js';
import { beginHash, type MakeHasher, toBase64 } from './digests.js';
import { type Body, piecesOf } from './request-body.js';

/** Checksums, made from their reversed polynomials. */
const crc32 = () => createCRC32(0xedb88320);
const crc32c = () => createCRC32(0x82f63b78);
const crc64nvme = () => createCRC64('9a6c9329ac4bc9b5');

/** By the names of S3. */
const CHECKSUMS: Record<string, (body: Body) => Promise<Uint8Array | undefined>> = {
  crc32: (body) => crcOf(body, crc32),
  crc32c: (body) => crcOf(body, crc32c),
  crc64nvme: (body) => crcOf(body, crc64nvme),
  sha1: (body) => shaOf(body, 'SHA-1'),
  sha256: (body) => shaOf(body, 'SHA-256'),
};

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

async function crcOf(body: Body, make: MakeHasher): Promise<Uint8Array> {
  const hash = await beginHash(make);
  for await (const piece of piecesOf(body)) {
    hash.update(piece);
    await nextTask();
  }
  return hash.digest();
}
