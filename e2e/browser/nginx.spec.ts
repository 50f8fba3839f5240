// Images on a server as most are, over HTTP/2: the requests share one connection.

import { linkSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, hashOpfs, loadApi, test } from '../support/browser.js';
import { hashFile, images } from '../support/images.js';
import { startNginx } from '../support/nginx.mjs';

test.use({ ignoreHTTPSErrors: true });

test('an image from nginx over HTTP/2, of another origin', { tag: '@full' }, async ({ page, servers }, testInfo) => {
  const folder = testInfo.outputPath('files');
  mkdirSync(folder, { recursive: true });
  linkSync(images.zlib(), join(folder, 'disk.qcow2'));
  const nginx = await startNginx(join(folder, 'nginx'), folder);
  try {
    await page.goto(`${servers.isolated.url}/blank`);
    await loadApi(page);
    const sourceVerified = await page.evaluate(async (url) => {
      const image = await window.decant.open(new URL(url));
      const result = await image.convert({ opfs: 'out.raw' });
      await image.close();
      return result.sourceVerified;
    }, `${nginx.https}/disk.qcow2`);
    expect(sourceVerified).toBe(true);
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
    const fewest = statSync(images.zlib()).size / (4 << 20);
    await expect.poll(() => nginx.served().filter(({ status }) => status === 206).length).toBeGreaterThan(fewest);
    const asked = nginx.served().filter(({ status }) => status === 206);
    expect(new Set(asked.map(({ protocol }) => protocol))).toEqual(new Set(['HTTP/2.0']));
    expect(asked.length).toBeLessThan(fewest + 16);
  } finally {
    await nginx.stop();
  }
});
