// Names that are meant to do harm, on the page.

import { expect, type Page, test } from '../support/browser.js';
import { HIDDEN, NASTY, NASTY_SHOWN, places } from '../support/hostile.js';
import { byScope } from '../support/scope.js';

test.beforeEach(({ page }) => page.goto('/'));

async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.locator('input[type=file]').first().setInputFiles({ name, mimeType: '', buffer });
}

/** Every text of the page, attributes and the window's title too. */
async function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts = [document.title];
    const walk = (node: Node) => {
      if (node instanceof Text) texts.push(node.data);
      if (node instanceof HTMLInputElement) texts.push(node.value);
      if (node instanceof Element) texts.push(...[...node.attributes].map(({ value }) => value));
      if (node instanceof Element && node.shadowRoot) walk(node.shadowRoot);
      if (!(node instanceof HTMLStyleElement)) node.childNodes.forEach(walk);
    };
    walk(document.body);
    return texts;
  });
}

async function check(page: Page): Promise<void> {
  const texts = await textsOf(page);
  // What stands in a template has line ends of its own: that a name's are not among them is seen by how it is shown.
  for (const text of texts) expect(HIDDEN.exec(text.replaceAll('\n', '')), text.slice(0, 300)).toBe(null);
  for (const text of texts) expect(text.length, text.slice(0, 300)).toBeLessThanOrEqual(1000);
}

const LONG = 'x'.repeat(60_000);

// One in the short run: element/texts/texts.test.ts has all texts with such names, worker/errors/shown.ts escapes them.
for (const [place, tag] of [
  ['backing file', []],
  ['data file', ['@full']],
  ['snapshot', ['@full']],
  ['feature', ['@full']],
] as const) {
  test(`a name in an image, ${place}`, { tag: [...tag] }, async ({ page }) => {
    const { room, make } = places[place];
    for (const name of byScope({ short: [NASTY], full: [NASTY, LONG.slice(0, room)] })) {
      await page.goto('/');
      await choose(page, 'image.qcow2', make(name));
      if (place === 'snapshot') await expect(page.getByLabel('State of the disk')).toBeVisible();
      const shown = name === NASTY ? NASTY_SHOWN : 'x'.repeat(46);
      await expect.poll(async () => (await textsOf(page)).some((text) => text.includes(shown))).toBe(true);
      await check(page);
    }
  });
}

test('the name of a file, whatever comes of it', { tag: '@full' }, async ({ page }) => {
  const name = `${NASTY}.qcow2`;
  const contents = [places.snapshot.make('then'), places['backing file'].make('base.raw'), Buffer.from('no image')];
  for (const content of contents) {
    await page.goto('/');
    await choose(page, name, content);
    await expect.poll(async () => (await textsOf(page)).join('\n').includes('Drop a disk image')).toBe(false);
    await expect(page.getByRole('heading', { name: 'Reading' })).toBeHidden();
    await check(page);
  }
  await page.goto('/');
  await choose(page, name, contents[0]!);
  await expect(page.getByRole('heading', { name: NASTY_SHOWN })).toBeVisible();
});
