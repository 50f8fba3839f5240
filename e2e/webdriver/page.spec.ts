// The page in Firefox and WebKit, by its controls.

import { DISK_SIZE, expectSame, images, PASSWORD, sparse } from '../support/images.js';
import { test } from '../support/webdriver/browsers.js';

test.beforeEach(async ({ session, server }) => {
  await session.goto(server.url);
  await session.sees('Drop a disk image');
});

test('an image becomes a download of the right bytes', async ({ session }) => {
  await session.choose(images.zlib());
  await session.sees('to your downloads');
  await session.click('Convert');
  await session.sees('Done');
  expectSame(await session.downloaded('zlib.raw', DISK_SIZE), images.raw());
});

test('an encrypted image too, when its password was given', async ({ session }) => {
  await session.choose(images.luks());
  await session.typePassword('wrong');
  await session.click('Unlock');
  await session.sees('The password is wrong');
  await session.typePassword(PASSWORD);
  await session.click('Unlock');
  await session.sees('to your downloads');
  await session.click('Convert');
  await session.sees('Done');
  expectSame(await session.downloaded('luks.raw', DISK_SIZE), images.raw());
});

test('a disk of 3 GiB becomes a download', async ({ session }) => {
  test.setTimeout(600_000);
  const { image, raw } = sparse(3 * 2 ** 30);
  await session.choose(image);
  await session.sees('to your downloads');
  await session.click('Convert');
  await session.sees('Done', 300_000);
  expectSame(await session.downloaded('sparse-3072.raw', 3 * 2 ** 30), raw);
});
