// <decant-converter> in the boxes of other pages: it is as wide as its box, as high as its content, and leaves the page's buttons
// where they are.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '../support/browser.js';
import { closeHost, openHost } from '../support/host-page.js';
import { images, qemuImg } from '../support/images.js';
import { ovaOfSeveral } from '../support/ova.js';
import { choose } from '../support/page.js';
import type { TestServer } from '../support/server.js';

test.use({ isolated: false, opensFolds: false });

test.afterEach(({ servers }) => closeHost(servers.plain));

interface Box {
  name: string;
  style: string;
  attributes: string;
  /** Whether all steps fit in its height. */
  fits?: true;
}

const DIALOG =
  '.box { width: 480px; height: 360px; box-sizing: border-box; padding: 16px; border: 1px solid; display: flex; flex-direction: column } .body { overflow: auto; flex: 1; min-height: 0 } .box header, .box footer { flex: none; height: 40px }';

const BOXES: Box[] = [
  { name: 'a dialog of 480 x 360', style: DIALOG, attributes: '' },
  { name: 'a dialog of 480 x 360, compact', style: DIALOG, attributes: 'compact', fits: true },
  { name: 'a card of 300 px, German', style: '.box { width: 300px }', attributes: 'lang="de"' },
  { name: 'a card of 300 px, compact', style: '.box { width: 300px }', attributes: 'compact' },
  { name: 'a box in a narrow grid', style: 'body { display: grid; width: 320px } main { padding: 0 }', attributes: '' },
  { name: 'a row', style: '.box { width: 500px; display: flex } .body { display: contents }', attributes: '' },
  {
    name: 'a grid',
    style: '.box { width: 320px; display: grid; justify-items: center } .body { display: contents }',
    attributes: '',
  },
];

async function open(page: Page, server: TestServer, box: Box): Promise<void> {
  const element = `<section class="box"><header>Import</header><div class="body"><decant-converter ${box.attributes}></decant-converter></div><footer><button id="close">Close</button></footer></section>`;
  const script = `
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(${JSON.stringify(box.style)});
    document.adoptedStyleSheets = [sheet];
    let go;
    const gate = new Promise((resolve) => { go = resolve; });
    window.go = go;
    converter.places = ['azure', 'kvm', 'digitalocean'];
    converter.output = () => ({ write: () => gate, close: async () => {}, abort: async () => {} });`;
  await openHost(page, server, element, script);
}

/** What takes much room: files, and the heading that is shown of them. */
const LARGE: Record<string, { files: (folder: string) => string[]; heading: string }> = {
  'a missing base file': { files: () => [images.chain().top], heading: 'Also add middle.qcow2' },
  'a machine with several disks': {
    files: (folder) => [ovaOfSeveral(folder, 'vm.ova', several(folder, 4), [1 << 20])],
    heading: 'web & db contains 4 disks',
  },
  'a queue of five': { files: (folder) => several(folder, 5), heading: 'disk-0.qcow2' },
};

const several = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => {
    const path = join(folder, `disk-${at}.qcow2`);
    const raw = join(folder, `${at}.raw`);
    writeFileSync(raw, Buffer.alloc((at + 1) << 20).fill(at + 1, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, path);
    return path;
  });

/** What is wrong with the layout: parts that stick out of the element, scrolling, and a button that was pushed away. */
const faults = (page: Page, fits = false): Promise<string[]> =>
  page.evaluate((fits) => {
    const converter = document.querySelector('decant-converter')!;
    const [box, body] = ['.box', '.body'].map((name) => document.querySelector<HTMLElement>(name)!);
    const outer = converter.getBoundingClientRect();
    const found: string[] = [];
    for (const one of converter.shadowRoot!.querySelectorAll<HTMLElement>('.element *')) {
      // Invisible fields cover their tiles.
      if (!one.checkVisibility({ opacityProperty: true }) || one.closest('.unseen')) continue;
      const rect = one.getBoundingClientRect();
      // Items further down in a list that scrolls may be out of sight.
      const list = one.parentElement!.closest('.list, .queue ol');
      const sides = {
        left: outer.left - rect.left,
        right: rect.right - outer.right,
        bottom: list ? 0 : rect.bottom - outer.bottom,
      };
      for (const [side, by] of Object.entries(sides))
        if (by > 1) found.push(`${one.outerHTML.slice(0, 60)}: ${side} ${by}`);
      if (
        one.scrollWidth > one.clientWidth + 1 &&
        one.clientWidth > 0 &&
        !one.matches('code, pre, .lane *, select, input')
      )
        found.push(`${one.outerHTML.slice(0, 60)}: scrolls`);
    }
    if (body!.scrollWidth > body!.clientWidth) found.push('the body scrolls sideways');
    if (fits && body!.scrollHeight > body!.clientHeight)
      found.push(`${body!.scrollHeight - body!.clientHeight} px too high`);
    const frame = box!.getBoundingClientRect();
    const button = document.querySelector('#close')!.getBoundingClientRect();
    if (button.right > frame.right || button.bottom > frame.bottom + 1) found.push('the button is outside');
    if (document.documentElement.scrollWidth > innerWidth) found.push('the page scrolls sideways');
    return found;
  }, fits);

for (const box of BOXES) {
  test(`each step fits in ${box.name}`, { tag: box.fits ? [] : '@full' }, async ({ page, servers }) => {
    await open(page, servers.plain, box);
    const check = async (step: string) => expect(await faults(page, box.fits), step).toEqual([]);
    await check('empty');
    await choose(page, images.partitioned());
    await expect(page.locator('canvas')).toBeVisible();
    await check('read');
    if (!box.fits) {
      for (const fold of await page.locator('.fold:visible').all()) await fold.locator('summary').click();
      await check('everything open');
    }
    await page.locator('[data-convert]').click();
    await expect(page.locator('progress')).toBeVisible();
    await check('converting');
    await page.evaluate(() => (window as unknown as { go: () => void }).go());
    await expect(page.locator('#place')).toBeVisible();
    await check('done');
    await page.locator('.actions .primary').click();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'noise.qcow2', mimeType: '', buffer: Buffer.from('noise') });
    await expect(page.locator('.below > p.bad').first()).toBeVisible();
    await check('refused');
  });
}

for (const [name, { files, heading }] of Object.entries(LARGE))
  test(
    `each step fits in a dialog of 480 x 360, compact: ${name}`,
    { tag: '@full' },
    async ({ page, servers }, testInfo) => {
      mkdirSync(testInfo.outputDir, { recursive: true });
      await open(page, servers.plain, BOXES[1]!);
      const check = async (step: string) => expect(await faults(page, true), step).toEqual([]);
      await choose(page, ...files(testInfo.outputDir));
      await expect(page.getByRole('heading', { name: heading, exact: true })).toBeVisible();
      await check('asked');
      const next = page.getByRole('button', { name: 'Continue' });
      if (await next.isVisible()) await next.click();
      if (name === 'a missing base file') return;
      await expect(page.locator('[data-convert]')).not.toHaveAttribute('aria-disabled');
      await check('read');
      await page.getByRole('button', { name: /^Convert all/ }).click();
      await expect(page.locator('progress')).toBeVisible();
      await check('converting');
      await page.evaluate(() => (window as unknown as { go: () => void }).go());
      await expect(page.locator('.tick')).toBeVisible();
      await check('done');
    },
  );

test(
  'a box without a width is as wide as the element would like to be',
  { tag: '@full' },
  async ({ page, servers }) => {
    await open(page, servers.plain, { name: '', style: '.box { width: fit-content }', attributes: '' });
    const width = () => page.locator('decant-converter').evaluate((element) => element.getBoundingClientRect().width);
    expect(await width()).toBeGreaterThan(500);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await faults(page)).toEqual([]);
    expect(await width()).toBeGreaterThan(280);
  },
);

test('the element is as high as what it shows', { tag: '@full' }, async ({ page, servers }) => {
  await open(page, servers.plain, BOXES[2]!);
  const height = () => page.locator('decant-converter').evaluate((element) => element.getBoundingClientRect().height);
  const empty = await height();
  await choose(page, images.partitioned());
  await expect(page.locator('canvas')).toBeVisible();
  expect(await height()).not.toBe(empty);
  await page.locator('.actions .link').last().click();
  await expect(page.locator('.drop')).toBeVisible();
  expect(await height()).toBe(empty);
});
