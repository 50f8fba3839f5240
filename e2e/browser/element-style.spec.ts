// The parts and custom properties of <decant-converter> that docs/element.md lists: each is there, and can be styled from outside.

import { readFileSync } from 'node:fs';
import { expect, type Page, test } from '../support/browser.js';
import { closeHost, openHost } from '../support/host-page.js';
import { images } from '../support/images.js';
import { choose } from '../support/page.js';

test.use({ isolated: false });

test.afterEach(({ servers }) => closeHost(servers.plain));

const documented = readFileSync(new URL('../../docs/element.md', import.meta.url), 'utf8');
const [, rows = ''] = documented.split('| part | |\n|---|---|\n');
const [table = ''] = rows.split('\n\n');

const PARTS = [...new Set([...table.matchAll(/`(\w+)`/g)].map(([, part]) => part!))];

/** A different value for a custom property, as the browser reports it. */
function sampleOf(name: string, at: number): string {
  if (/font/.test(name)) return `f${at}`;
  if (/weight/.test(name)) return `${500 + at}`;
  if (/shadow/.test(name)) return `rgb(0, 0, 0) 0px 0px ${at}px 0px`;
  return /radius|space|padding|control|drop|size|height/.test(name) ? `${100 + at}px` : `rgb(1, 2, ${at})`;
}

const PROPERTIES = new Map(
  [...new Set(documented.match(/--decant-[a-z0-9-]+/g))].map((name, at) => [name, sampleOf(name, at)]),
);

/** Styles all of them from outside: a part has the property `--part-NAME`, which nothing inherits. */
const STYLE = `
  for (const part of ${JSON.stringify(PARTS)})
    CSS.registerProperty({ name: '--part-' + part, syntax: '*', inherits: false });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(${JSON.stringify(
    [
      ...PARTS.map((part) => `decant-converter::part(${part}) { --part-${part}: styled; }`),
      `decant-converter { ${[...PROPERTIES].map(([name, value]) => `${name}: ${value};`).join(' ')} }`,
    ].join('\n'),
  )});
  document.adoptedStyleSheets = [sheet];`;

/** In the current step: the names of all parts and of styled parts, and the values in use. */
const shown = (page: Page) =>
  page.evaluate((parts) => {
    const elements = [...document.querySelector('decant-converter')!.shadowRoot!.querySelectorAll('*')];
    const styles = elements.map((element) => getComputedStyle(element));
    const named = [
      ...(['color', 'backgroundColor', 'borderTopColor', 'fill', 'boxShadow', 'borderTopLeftRadius'] as const),
      ...(['paddingTop', 'marginTop', 'minHeight', 'fontFamily', 'fontSize', 'fontWeight', 'lineHeight'] as const),
    ];
    return {
      parts: elements.flatMap((element) => [...element.part]),
      styled: parts.filter((part) => styles.some((style) => style.getPropertyValue(`--part-${part}`) === 'styled')),
      values: styles.flatMap((style) => named.map((name) => style[name])),
    };
  }, PARTS);

/** Disks are accepted, or accepted without ever ending. */
const takeDisks = (page: Page, isHeld: boolean) =>
  page.evaluate((isHeld) => {
    const converter = document.querySelector('decant-converter')!;
    converter.places = ['kvm'];
    converter.output = () => ({
      write: () => (isHeld ? new Promise(() => {}) : Promise.resolve()),
      close: async () => {},
      abort: async () => {},
    });
  }, isHeld);

/** Goes through the steps; `look` is called in each of them. */
async function visit(page: Page, look: () => Promise<unknown>): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await page.getByLabel('Link to').fill('nonsense');
  await button('Open').click();
  await expect(page.locator('#address-problem')).toBeVisible();
  await look();
  await choose(page, images.zlib());
  await expect(page.getByRole('img', { name: 'Picture of the disk' })).toBeVisible();
  await page.getByRole('radio', { name: 'As a download' }).click();
  await page.getByLabel('File name').fill('disk.vhd');
  await expect(page.locator('#name-warnings .notice')).toBeVisible();
  await look();
  await button('Choose another file').click();
  await choose(page, images.chain().top, ...images.chain().below);
  await expect(page.locator('.layer-2')).toBeVisible();
  await look();
  await button('Choose another file').click();
  await takeDisks(page, true);
  await choose(page, images.zlib());
  await button('Convert').click();
  await expect(page.getByRole('progressbar', { name: 'Converting' })).toBeVisible();
  await look();
  await button('Cancel').click();
  await expect(page.getByRole('heading', { name: 'Cancelled' })).toBeVisible();
  await look();
  await takeDisks(page, false);
  await button('Back to the image').click();
  await button('Convert').click();
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  await look();
  await button('Convert another image').click();
  const noise = { name: 'noise.qcow2', mimeType: '', buffer: Buffer.from('noise') };
  await page.locator('input[type=file]').setInputFiles(noise);
  await expect(page.getByRole('heading', { name: 'could not be opened' })).toBeVisible();
  await look();
}

test(
  'each part is documented and can be styled, and each custom property is used',
  { tag: '@full' },
  async ({ page, servers }) => {
    expect([PARTS.length, PROPERTIES.size].map((count) => count > 8)).toEqual([true, true]);
    await openHost(page, servers.plain, '<decant-converter sample="/sample.qcow2"></decant-converter>', STYLE);
    const seen = { parts: new Set<string>(), styled: new Set<string>(), values: new Set<string>() };
    await visit(page, async () => {
      const { parts, styled, values } = await shown(page);
      for (const part of parts) seen.parts.add(part);
      for (const part of styled) seen.styled.add(part);
      for (const value of values) seen.values.add(value);
    });
    expect([...seen.parts].toSorted()).toEqual(PARTS.toSorted());
    expect([...seen.styled].toSorted()).toEqual(PARTS.toSorted());
    expect([...PROPERTIES].filter(([, value]) => !seen.values.has(value))).toEqual([]);
  },
);
