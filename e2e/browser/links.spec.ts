// Images on servers in the page: a typed, pasted or dropped URL, and a lost network.

import { readFileSync } from 'node:fs';
import { expect, type Page, test } from '../support/browser.js';
import { hashFile, images, small } from '../support/images.js';
import { choose, look, lookAgain } from '../support/page.js';
import { type RemoteFile, serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

const OPEN_TO_ALL = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Content-Range, ETag',
};

let remote: RemoteFile | undefined;
test.afterEach(async () => {
  await remote?.close();
  remote = undefined;
});

test.beforeEach(async ({ page }) => {
  await page.goto('/');
});

const field = (page: Page) => page.getByRole('textbox', { name: /^Link to/ });

async function type(page: Page, address: string): Promise<void> {
  await field(page).fill(address);
  await field(page).press('Enter');
}

const paste = (page: Page, text: string) =>
  page.evaluate((text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);

const dropLink = (page: Page, address: string) =>
  page.evaluate((address) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData('text/uri-list', `# a link\r\n${address}`);
    const over = new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true });
    document.body.dispatchEvent(over);
    if (!over.defaultPrevented) throw new Error('the page does not take the link');
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, address);

/** Converts the shown image to a download. */
async function download(page: Page): Promise<string> {
  const downloading = page.waitForEvent('download');
  await page.getByRole('radio', { name: /As a download/ }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  return (await downloading).path();
}

test('an address that is typed, pasted or dropped becomes a disk', async ({ page }) => {
  remote = await serveFile(readFileSync(images.states()), { headers: OPEN_TO_ALL });
  for (const give of byScope({ short: [dropLink], full: [type, paste, dropLink] })) {
    await give(page, `${remote.url}?token=secret`);
    await expect(page.getByRole('heading', { name: /^disk\.qcow2$/ })).toBeVisible();
    expect(hashFile(await download(page))).toBe(hashFile(images.filled(2)));
    await expect(page.locator('decant-converter')).not.toContainText('secret');
    await page.getByRole('button', { name: 'Convert another image' }).click();
  }
});

test('an invalid URL, and an unreachable server', async ({ page }) => {
  await type(page, 'disk.qcow2');
  const field = page.locator('[name=address]');
  await expect(field).toHaveAccessibleDescription(/^Enter a link that begins with https/);
  await expect(field).toHaveAttribute('aria-invalid', 'true');
  const red = await field.evaluate((input) => getComputedStyle(input).borderTopColor);
  await expect(page.locator('#address-problem')).toHaveCSS('color', red);
  await expect(field).toBeFocused();
  await field.press('x');
  await expect(field).not.toHaveAttribute('aria-invalid');
  const gone = await serveFile(Buffer.alloc(0));
  await gone.close();
  await type(page, gone.url);
  await expect(page.getByRole('heading', { name: 'disk.qcow2 could not be opened' })).toBeVisible();
  await expect(page.locator('.bad')).toContainText(/no answer came from http:\S+, or its CORS rules do not allow/);
  remote = await serveFile(readFileSync(small.zlib()), { headers: OPEN_TO_ALL });
  await expect(page.getByRole('button', { name: 'Try again' })).toBeVisible();
});

test('a link that is refused can be mended', async ({ page }, testInfo) => {
  remote = await serveFile(readFileSync(small.zlib()), {
    headers: OPEN_TO_ALL,
    answer: ({ url }, response) => {
      if (!url?.includes('dsik')) return false;
      response.writeHead(404, OPEN_TO_ALL).end();
      return true;
    },
  });
  const address = remote.url.replace('disk', 'dsik');
  await type(page, address);
  await expect(page.getByRole('heading', { name: 'dsik.qcow2 could not be opened' })).toBeVisible();
  await look(page, testInfo, 'refused');
  await page.getByRole('button', { name: 'Edit the link' }).click();
  await expect(field(page)).toBeFocused();
  await expect(field(page)).toHaveValue(address);
  await lookAgain(page, testInfo, 'mended');
  await type(page, address.replace('dsik', 'disk'));
  await expect(page.getByRole('heading', { name: /^disk\.qcow2$/ })).toBeVisible();
});

test('code for servers that cannot be loaded is reported, and loaded again', { tag: '@full' }, async ({ page }) => {
  const code = '**/open-http*.js';
  await page.context().route(code, (route) => route.abort());
  remote = await serveFile(readFileSync(small.zlib()), { headers: OPEN_TO_ALL });
  await type(page, remote.url);
  await expect(page.locator('.bad')).toContainText(
    /Could not load the code for files on servers: [^;]+; try again, or/,
  );
  await page.context().unroute(code);
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('heading', { name: /^disk\.qcow2$/ })).toBeVisible();
});

/** Waits until the page is kept for offline use, with the code for servers. */
const untilKept = (page: Page) =>
  expect
    .poll(() =>
      page.evaluate(async () => {
        const isKept = (await caches.match(new URL('build.json', document.baseURI))) !== undefined;
        return isKept && navigator.serviceWorker.controller !== null;
      }),
    )
    .toBe(true);

test(
  'a link that is opened while the network is down is opened when it is back',
  { tag: '@full' },
  async ({ page }) => {
    remote = await serveFile(readFileSync(small.zlib()), { headers: OPEN_TO_ALL });
    await untilKept(page);
    await page.clock.install();
    await page.goto('/');
    await page.context().setOffline(true);
    await type(page, remote.url);
    const notice = page.locator('.notice');
    await expect(async () => {
      await page.clock.fastForward(6000);
      await expect(notice).toHaveText('This device is offline. Decant tries again.', { timeout: 1000 });
    }).toPass();
    await page.context().setOffline(false);
    await expect(page.getByRole('heading', { name: /^disk\.qcow2$/ })).toBeVisible();
  },
);

test('the file that an image needs, by its address', { tag: '@full' }, async ({ page }) => {
  const { top, below, raw } = images.chain();
  const [middle, base] = below as [string, string];
  remote = await serveFile(readFileSync(base), { headers: OPEN_TO_ALL });
  await choose(page, top, middle);
  await expect(page.getByRole('heading', { name: /^Also add base/ })).toBeVisible();
  await type(page, remote.url.replace('disk.qcow2', base.split('/').at(-1)!));
  expect(hashFile(await download(page))).toBe(hashFile(raw));
});

test('a lost network is reported, and awaited', { tag: '@full' }, async ({ page }, testInfo) => {
  await page.clock.install();
  await page.goto('/');
  let isGone = false;
  let lost = 0;
  remote = await serveFile(readFileSync(small.zlib()), {
    headers: OPEN_TO_ALL,
    answer: (_, response) => {
      if (!isGone) return false;
      lost += 1;
      response.destroy();
      return true;
    },
  });
  await type(page, remote.url);
  await expect(page.getByRole('heading', { name: /^disk\.qcow2$/ })).toBeVisible();
  await page.getByRole('radio', { name: /As a download/ }).click();
  isGone = true;
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect.poll(() => lost).toBeGreaterThan(0);
  const notice = page.locator('.notice');
  await expect(async () => {
    await page.clock.fastForward(6000);
    await expect(notice).toContainText(/^The server .* does not answer or breaks the connection\. .* so far/, {
      timeout: 1000,
    });
  }).toPass();
  await look(page, testInfo, 'silent');
  isGone = false;
  await page.evaluate(() => window.dispatchEvent(new Event('online')));
  expect(hashFile(await (await downloading).path())).toBe(hashFile(small.raw()));
});

test('the field for an address, light and dark, wide and narrow', { tag: '@full' }, async ({ page }, testInfo) => {
  await look(page, testInfo, 'link');
});
