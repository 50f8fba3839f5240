// Checksums of parts: the values of "123456789" are those of the catalogue of CRCs and of FIPS 180-4.

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { matchesChecksum } from './checksums.js';

const CHECK = new TextEncoder().encode('123456789');
const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
const stated = (name: string, value: string) => new Headers({ [`x-amz-checksum-${name}`]: value });

test.each([
  ['crc32', 'cbf43926'],
  ['crc32c', 'e3069283'],
  ['crc64nvme', 'ae8b14860a799888'],
  ['sha1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
  ['sha256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
])('%s', async (name, hex) => {
  expect(await matchesChecksum(stated(name, base64(hex)), CHECK)).toBe(true);
  expect(await matchesChecksum(stated(name, base64(`00${hex.slice(2)}`)), CHECK)).toBe(false);
});

test.each([0, 1, (1 << 20) + 1, (3 << 20) - 1])('%i bytes', async (length) => {
  const bytes = new Uint8Array(length).map((_, at) => (at * 2_654_435_761) >>> 24);
  const crc = crc32(bytes).toString(16).padStart(8, '0');
  expect(await matchesChecksum(stated('crc32', base64(crc)), bytes)).toBe(true);
  const sha = createHash('sha256').update(bytes).digest('base64');
  expect(await matchesChecksum(stated('sha256', sha), bytes)).toBe(true);
});

test.each([[{}], [{ 'x-amz-checksum-xxhash64': 'AAAA' }]])('headers %o say nothing', async (headers) => {
  expect(await matchesChecksum(new Headers(headers), CHECK)).toBeUndefined();
});
