// The caller's headers beside those of the protocols.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cloudOf, DISK, failure, KINDS, objectIn, runClock, TARGETS, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Names of headers that some protocol sets, in the case in which callers write them. */
const NAMES = [
  'Content-Type',
  'Content-MD5',
  'Content-Range',
  'If-None-Match',
  'Tus-Resumable',
  'Upload-Offset',
  'X-Goog-Resumable',
  'X-Ms-Version',
  'X-Ms-Blob-Type',
  'X-Ms-Page-Write',
];

/** Uploads with the caller's `headers`. Resolves to those of each request. */
async function sent(kind: (typeof KINDS)[number], headers: Record<string, string>) {
  const cloud = cloudOf();
  expect(await runClock(failure(upload(TARGETS[kind](cloud, { headers }), DISK)))).toBe('nothing failed');
  expect(objectIn(cloud)?.equals(DISK)).toBe(true);
  return cloud.asked.map(({ method, url, headers: sent }) => ({ method, url, headers: sent }));
}

test.each(
  KINDS,
)('%s: what the protocol sets replaces a header of the caller, and is not joined to it', async (kind) => {
  const plain = await sent(kind, {});
  const mixed = await sent(kind, Object.fromEntries(NAMES.map((name) => [name, 'of the caller'])));
  expect(mixed.map(({ method }) => method)).toEqual(plain.map(({ method }) => method));
  for (const [at, { headers }] of mixed.entries()) {
    for (const [name, value] of Object.entries(plain[at]!.headers)) {
      const isDefault = kind === 'put' && name === 'content-type';
      if (isDefault) expect(headers[name]).toBe('of the caller');
      else if (typeof value === 'string') expect(headers[name], name).not.toContain('of the caller');
    }
  }
});

test.each(['Content-Type', 'content-type'])('%s of the caller, as PUT has it, is sent once', async (name) => {
  for (const kind of KINDS) {
    for (const { headers } of await sent(kind, { [name]: 'application/octet-stream' }))
      expect(headers['content-type'] ?? '', kind).not.toContain(', ');
  }
});
