// Large disks in Firefox and WebKit: each comes out as qemu-img reads it, or is refused in words.

import { readdirSync } from 'node:fs';
import { expectSame, sparse } from '../support/images.js';
import { convert, convertToStream, hashPieces } from '../support/in-page.js';
import { expect, test } from '../support/webdriver/browsers.js';

const PIECE = 16 << 20;

const REFUSALS = {
  none: { kind: 'usage', message: expect.stringContaining("needs the browser's private storage") },
  full: { kind: 'target', message: expect.stringContaining("browser's storage is full") },
};

test.describe.configure({ timeout: 600_000 });

test('3 GiB to a stream', async ({ session, chooseImage }) => {
  const { image, raw } = sparse(3 * 2 ** 30);
  await chooseImage(image);
  const { hash, ended, failed } = await session.run(convertToStream, [PIECE, {}] as const);
  expect(failed).toBeUndefined();
  expect(ended).toBe('closed');
  expect(hash).toBe(hashPieces(raw, PIECE));
});

for (const gibibytes of [3, 11]) {
  test(`${gibibytes} GiB as a download`, async ({ session, chooseImage, browserUnderTest }) => {
    const size = gibibytes * 2 ** 30;
    const { image, raw } = sparse(size);
    await chooseImage(image);
    const { failed } = await session.run(convert, [{ download: 'disk.raw' }, {}] as const);
    if (size <= browserUnderTest.room) {
      expect(failed).toBeUndefined();
      expectSame(await session.downloaded('disk.raw', size), raw);
    } else {
      expect(failed).toEqual(browserUnderTest.room === 0 ? REFUSALS.none : REFUSALS.full);
      expect(readdirSync(session.downloads)).toEqual([]);
    }
  });
}
