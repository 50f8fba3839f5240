// The SHA-256 of the disk of an open image.

import { DecantError, type DigestOptions, type DiskDigest } from 'decant';
import { expect, test, vi } from 'vitest';
import { Held, openImage, progressOf, RESULT, soon } from '../element.test-support.js';
import type { Digest } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import { digestNews } from './digest.js';
import { converting, open, saveTo, session, step } from './saving.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  targets: async () => [{ name: 'opfs', fits: true }],
  leftovers: async () => [],
}));

const DIGEST: DiskDigest = { sha256: 'ab'.repeat(32), size: 5e6, lost: [], lostRanges: 0, lostBytes: 0 };

/** Opens an image whose digest ends when the test says so, and starts it. */
async function begin(): Promise<{ options: DigestOptions; end: Held<DiskDigest> }> {
  const end = new Held<DiskDigest>();
  const asked: DigestOptions[] = [];
  const digest = (options: DigestOptions = {}) => {
    asked.push(options);
    return end.promise;
  };
  await open({ digest } as never);
  session.digestDisk();
  await soon(() => expect(asked).toHaveLength(1));
  // A second click changes nothing.
  session.digestDisk();
  expect(asked).toHaveLength(1);
  return { options: asked[0]!, end };
}

const shown = async (): Promise<Digest | undefined> => (await step('ready')).digest;

test('its progress, then the digest', async () => {
  const { options, end } = await begin();
  expect(await shown()).toMatchObject({ share: 0 });
  options.onProgress!(progressOf({ fraction: 0.5 }));
  expect(await shown()).toMatchObject({ share: 0.5 });
  expect(digestNews(session.state, english)).toEqual([]);
  end.resolve(DIGEST);
  await soon(async () => expect(await shown()).toEqual({ value: DIGEST.sha256 }));
  const text = `${english.diskDigest}: ${DIGEST.sha256}`;
  expect(digestNews(session.state, english)).toEqual([{ id: expect.anything(), text }]);
});

test('lost ranges are said beside it', async () => {
  const { end } = await begin();
  end.resolve({ ...DIGEST, lostRanges: 2, lostBytes: 1024 });
  await soon(async () => expect(await shown()).toEqual({ value: DIGEST.sha256, note: english.lost(1024, 2) }));
});

test('a failure is shown, and the digest can be computed again', async () => {
  const { end } = await begin();
  end.reject(new DecantError('corrupt', 'It is damaged'));
  await soon(async () => expect(await shown()).toEqual({ problem: 'It is damaged.' }));
});

test('a cancel ends it', async () => {
  const { options, end } = await begin();
  (await shown())!.cancel!();
  expect(options.signal!.aborted).toBe(true);
  end.reject(new DecantError('cancelled', 'The digest was cancelled'));
  await soon(async () => expect(await shown()).toBeUndefined());
});

test('a conversion ends it', async () => {
  const { options, end } = await begin();
  await saveTo('download');
  const conversion = await converting();
  expect(options.signal!.aborted).toBe(true);
  end.reject(new DecantError('cancelled', 'The digest was cancelled'));
  conversion.end.resolve(RESULT);
  await step('done');
});
