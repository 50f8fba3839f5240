// Checks a part against checksums in S3's response, if its ETag is not a digest. Amazon S3 User Guide, "Checking object
// integrity": base64 of the big-endian value.

import { nextTask } from '../errors/signals.js';
import { toBase64 } from './md5.js';
import { type Body, piecesOf } from './request-body.js';

type ChecksumFunction = (body: Body) => Promise<Uint8Array | undefined>;

/** The reversed polynomials of CRCs, as their high and low 32 bits, and their sizes in bytes. */
const CRCS: Record<string, [high: number, low: number, size: number]> = {
  crc32: [0, 0xedb88320, 4],
  crc32c: [0, 0x82f63b78, 4],
  crc64nvme: [0x9a6c9329, 0xac4bc9b5, 8],
};
const SHAS: Record<string, string> = { sha1: 'SHA-1', sha256: 'SHA-256' };

const DIGESTS: Record<string, ChecksumFunction> = {
  ...Object.fromEntries(Object.entries(CRCS).map(([name, crc]) => [name, (body) => crcOf(body, ...crc)])),
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

async function crcOf(body: Body, polynomialHigh: number, polynomialLow: number, size: number): Promise<Uint8Array> {
  const table = tableOf(polynomialHigh, polynomialLow);
  let [high, low] = [size === 8 ? -1 : 0, -1];
  for await (const piece of piecesOf(body)) {
    for (const byte of piece) {
      const entry = ((low ^ byte) & 0xff) * 2;
      low = ((low >>> 8) | (high << 24)) ^ table[entry]!;
      high = (high >>> 8) ^ table[entry + 1]!;
    }
    await nextTask();
  }
  const view = new DataView(new ArrayBuffer(8));
  view.setInt32(0, ~high);
  view.setInt32(4, ~low);
  return new Uint8Array(view.buffer, 8 - size);
}

/** Makes a table with the low and high half of each byte's entry. A 32-bit CRC uses the low half. */
function tableOf(polynomialHigh: number, polynomialLow: number): Int32Array {
  const table = new Int32Array(512);
  for (let byte = 0; byte < 256; byte += 1) {
    let [high, low] = [0, byte];
    for (let bit = 0; bit < 8; bit += 1) {
      const isOdd = (low & 1) === 1;
      low = (low >>> 1) | (high << 31);
      high >>>= 1;
      if (isOdd) [high, low] = [high ^ polynomialHigh, low ^ polynomialLow];
    }
    table[byte * 2] = low;
    table[byte * 2 + 1] = high;
  }
  return table;
}
