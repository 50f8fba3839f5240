// The element gets ready when the person drags a file over it or looks for one, and not before.

import { expect, type Page, test } from '../support/browser.js';
import { closeHost, openHost } from '../support/host-page.js';
import { images } from '../support/images.js';
import { dragOver } from '../support/page.js';

const FULL = { tag: '@full' };

test.use({ isolated: false });

test.afterEach(({ servers }) => closeHost(servers.plain));

const ELEMENT = '<decant-converter></decant-converter>';
const OWN_TARGET = 'converter.output = () => ({ write() {}, close() {}, abort() {} });';
const hasRates = (page: Page) => page.evaluate(() => localStorage.getItem('decant.probed') !== null);

for (const [how, begin, details] of [
  ['a file is dragged over it', (page: Page) => dragOver(page, images.zlib()), {}],
  ['the person looks for a file', (page: Page) => page.getByRole('button', { name: 'Choose' }).click(), FULL],
] as const) {
  test(`workers start and rates are estimated when ${how}`, details, async ({ page, servers }) => {
    await openHost(page, servers.plain, ELEMENT, 'delete window.showOpenFilePicker;');
    await page.waitForLoadState('networkidle');
    expect(page.workers()).toEqual([]);
    expect(await hasRates(page)).toBe(false);
    // A listener keeps the dialog from opening.
    page.on('filechooser', () => {});
    await begin(page);
    await expect.poll(() => page.workers().length).toBeGreaterThan(1);
    await expect.poll(() => hasRates(page)).toBe(true);
    expect(servers.plain.reports).toEqual([]);
  });
}

declare global {
  interface Window {
    /** How many workers the page has started, and the locks that it has requested. */
    counted: { workers: number; locks: string[] };
  }
}

/** Counts what the page begins. */
const count = (page: Page) =>
  page.addInitScript(() => {
    window.counted = { workers: 0, locks: [] };
    window.Worker = class extends Worker {
      constructor(...given: ConstructorParameters<typeof Worker>) {
        super(...given);
        window.counted.workers += 1;
      }
    };
    const request = LockManager.prototype.request as (...given: unknown[]) => Promise<unknown>;
    LockManager.prototype.request = function (this: LockManager, ...given: unknown[]) {
      window.counted.locks.push(String(given[0]));
      return request.apply(this, given);
    } as typeof LockManager.prototype.request;
  });

for (const [what, script, probed] of [
  ['that saves the disk itself needs no rates', OWN_TARGET, false],
  ['that saves it by the browser does', '', true],
] as const) {
  test(`a page ${what}`, FULL, async ({ page, servers }) => {
    await count(page);
    await openHost(page, servers.plain, ELEMENT, script);
    await page.waitForLoadState('networkidle');
    const release = await dragOver(page, images.zlib());
    await release();
    await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
    expect(await page.evaluate(() => window.counted.locks.includes('decant-probe'))).toBe(probed);
  });
}

test('a drag while an image is shown starts nothing', FULL, async ({ page, servers }) => {
  await count(page);
  await openHost(page, servers.plain, ELEMENT);
  const release = await dragOver(page, images.zlib());
  await release();
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
  const workers = () => page.evaluate(() => window.counted.workers);
  await expect.poll(workers).toBeGreaterThan(1);
  const before = await workers();
  // The choices that are open have scrolled into sight.
  await page.evaluate(() => window.scrollTo(0, 0));
  const { x, y } = (await page.locator('.card').boundingBox())!;
  await dragOver(page, images.zstd(), { x: x + 5, y: y + 5 });
  await expect(page.getByText('Drop to open it')).toBeVisible();
  expect(await workers()).toBe(before);
});
