// The page: choosing files, and what axe says of it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestInfo } from '@playwright/test';
import type { Rates } from '../../element/ways/rates.js';
import { expect, type Page } from './browser.js';
import { byScope } from './scope.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function choose(page: Page, ...files: string[]): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(files);
}

/** Drops what is at `path` as the system does: by default on the card, or elsewhere in the window. */
export async function drop(page: Page, path: string | string[], at?: { x: number; y: number }): Promise<void> {
  const release = await dragOver(page, path, at);
  await release();
}

/** Drags files over the element, or to `at`. Returns what drops them there. */
export async function dragOver(page: Page, path: string | string[], at?: { x: number; y: number }) {
  const client = await page.context().newCDPSession(page);
  const box = (await page.locator('.card').boundingBox())!;
  const place = at ?? { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const data = { items: [], files: [path].flat(), dragOperationsMask: 1 };
  const send = (type: 'dragEnter' | 'dragOver' | 'drop') =>
    client.send('Input.dispatchDragEvent', { type, ...place, data });
  await send('dragEnter');
  await send('dragOver');
  return async () => {
    // Chromium drops nothing on a page that has not answered to the last move yet, as on a busy machine.
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await send('dragOver');
    await send('drop');
  };
}

export async function audit(page: Page): Promise<void> {
  // A step fades in.
  await page.evaluate(async () => {
    const fades = document.querySelector('decant-converter')?.shadowRoot?.getAnimations() ?? [];
    await Promise.allSettled(fades.map(({ finished }) => finished));
  });
  const violations = await page.evaluate(
    `${axe}; axe.run({ resultTypes: ['violations'] }).then((result) => result.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' ')))`,
  );
  expect(violations).toEqual([]);
}

/** The names of options that are wider than their closed list, whose own name is `name`. */
export const cutOptions = (page: Page, name: string): Promise<string[]> =>
  page.locator(`select[name=${name}]`).evaluate((list: HTMLSelectElement) =>
    [...list.options].flatMap((option) => {
      // A list of this option alone, as wide as it wants to be.
      const alone = list.cloneNode() as HTMLSelectElement;
      alone.append(new Option(option.text));
      alone.style.width = 'max-content';
      list.after(alone);
      const width = alone.offsetWidth;
      alone.remove();
      return width > list.offsetWidth ? [option.text] : [];
    }),
  );

/** The commands of the next step, as they are copied. */
export const commands = (page: Page): Promise<string[]> =>
  page.locator('.next li button').evaluateAll((all) => all.map(({ ariaLabel }) => ariaLabel!.replace('Copy: ', '')));

/** Notes from now on what live regions announce, except the status: see `announced`. */
export const noteAnnounced = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const said: string[] = [];
    Object.assign(window, { said });
    const regions = document.querySelector('decant-converter')!.shadowRoot!.querySelectorAll('[aria-live]:not([role])');
    const observer = new MutationObserver((changes) => {
      for (const { addedNodes, target } of changes) {
        const texts = target.nodeType === Node.TEXT_NODE ? [target] : [...addedNodes];
        said.push(...texts.map((node) => node.textContent!.trim()).filter(Boolean));
      }
    });
    for (const region of regions) observer.observe(region, { childList: true, subtree: true, characterData: true });
  });

/** The announcements since `noteAnnounced`. */
export const announced = (page: Page): Promise<string[]> =>
  page.evaluate(() => (window as unknown as { said: string[] }).said);

interface Look {
  colorScheme: 'light' | 'dark';
  width: number;
}

/** The colours and widths in which every step must be right, the narrowest with the least contrast first. */
export const LOOKS: Look[] = [
  { colorScheme: 'dark', width: 320 },
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'light', width: 320 },
  { colorScheme: 'dark', width: 1280 },
];

/** Audits the page as it is, in one look, and takes a picture. */
export async function lookAs(
  page: Page,
  testInfo: TestInfo,
  name: string,
  { colorScheme, width }: Look,
): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height: 800 });
  await audit(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  await page.screenshot({ path: testInfo.outputPath(`${name}-${colorScheme}-${width}.png`), fullPage: true });
}

/** How many of them a step is looked at in. */
const EACH = byScope({ short: 1, full: 2 });

/** Audits the page as it is, and takes pictures. */
export async function look(page: Page, testInfo: TestInfo, name: string): Promise<void> {
  for (const one of LOOKS.slice(0, EACH)) await lookAs(page, testInfo, name, one);
}

/** As `look`, at a step at which another test looks too: not in the short run. */
export const lookAgain: typeof look = byScope({ short: async () => {}, full: look });

/** The rates that were measured in this browser, in bytes per second; 100 MB for those that are left out. */
export async function setRates(page: Page, measured: Partial<Rates> = {}): Promise<void> {
  await page.evaluate((measured) => {
    const even = { storage: 1e8, picked: 1e8, finish: 1e8, download: 1e8, streamed: 1e8 };
    localStorage.setItem('decant.rates', JSON.stringify({ ...even, ...measured }));
  }, measured);
}

/** Gives the storage of the page room for `bytes`: a larger download is streamed. */
export async function limitStorage(page: Page, bytes = 2 << 20): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send('Storage.overrideQuotaForOrigin', { origin: new URL(page.url()).origin, quotaSize: bytes });
}
