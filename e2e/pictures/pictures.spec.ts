// Makes the pictures in docs/: `node_modules/.bin/playwright test -c e2e --project=pictures`. No test run has this project. Needs
// img2webp of Debian's package webp.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '../support/browser.js';
import { arriveAt, closeGate, fifthOf, serveGates, stopMidway } from '../support/gates.js';
import { openHost } from '../support/host-page.js';
import { images, qemuImg } from '../support/images.js';
import { choose, dragOver } from '../support/page.js';

test.use({ opensFolds: false, serviceWorkers: 'block', viewport: { width: 900, height: 1000 }, colorScheme: 'light' });

/** The dialog of a console. */
const STYLE = `
  body { margin: 0; background: #e9edf2; font-family: system-ui, sans-serif }
  h1, #elsewhere { display: none }
  dialog { width: 480px; box-sizing: border-box; padding: 24px; border: 0; border-radius: 4px; box-shadow: 0 8px 32px #0003; inset: 0; margin: auto }
  h2 { margin: 0 0 16px; font-size: 20px }
  footer { margin-top: 16px; text-align: right }
  footer button { padding: 8px 16px; border: 1px solid #8894a4; border-radius: 4px; background: none; font: inherit }
  decant-converter { --decant-accent: #1a4fa0; --decant-radius: 6px; --decant-size: 15px }`;

/** The most of a step that is shown, in CSS pixels. */
const HIGHEST = 490;

/** Saves a picture of the page, or of the card in it, without a focus ring. */
async function shoot(page: Page, name: string, isCard = true): Promise<void> {
  // Steps and cells fade in.
  await page.waitForTimeout(1000);
  await page.locator('decant-converter').evaluate(({ shadowRoot }) => {
    (shadowRoot!.activeElement as HTMLElement | null)?.blur();
    scrollTo(0, 0);
  });
  const card = isCard && (await page.locator('.card').boundingBox());
  const clip = card ? { ...card, height: Math.min(card.height, HIGHEST) } : undefined;
  const picture = await page.screenshot({ fullPage: true, ...(clip && { clip }) });
  const path = fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));
  writeFileSync(path, await converted(page, picture, { type: 'image/webp', quality: 0.5 }));
}

/** Makes another picture of a PNG, of at most `width` pixels: documents are in the package, and must be small. */
async function converted(page: Page, picture: Buffer, as: ImageEncodeOptions, width = 600): Promise<Buffer> {
  const bytes = await page.evaluate(
    async ([picture, as, width]) => {
      const whole = await createImageBitmap(new Blob([new Uint8Array(picture)]));
      const resizeWidth = Math.min(width, whole.width);
      const bitmap = await createImageBitmap(whole, { resizeWidth, resizeQuality: 'high' });
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext('2d')!.drawImage(bitmap, 0, 0);
      const blob = await canvas.convertToBlob(as);
      return [...new Uint8Array(await blob.arrayBuffer())];
    },
    [[...picture], as, width] as const,
  );
  return Buffer.from(bytes);
}

/** A disk with a system, in the format of many appliances. */
function appliance(path: string): string {
  qemuImg('convert', '-O', 'vmdk', '-o', 'subformat=streamOptimized', images.partitioned(), path);
  return path;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('the steps of a conversion', async ({ page, servers }, testInfo) => {
  serveGates(servers.isolated);
  await page.addInitScript(() => {
    Reflect.deleteProperty(window, 'showDirectoryPicker');
    Reflect.deleteProperty(window, 'showSaveFilePicker');
  });
  await page.goto('/');
  await expect(button(page, 'Choose a file')).toBeVisible();
  await shoot(page, 'steps/1-drop.webp');
  const image = appliance(testInfo.outputPath('web.vmdk'));
  await choose(page, image);
  await page.getByRole('radio', { name: 'Azure' }).check();
  await expect(page.locator('.made', { hasText: 'to your downloads' })).toBeVisible();
  await expect(page.locator('.lane').getByText('ext4')).toBeVisible();
  await shoot(page, 'steps/ready.webp', false);
  const goOn = await stopMidway(page, 'web.vmdk', () => button(page, 'Convert').click());
  await shoot(page, 'steps/2-converting.webp');
  await goOn();
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  await shoot(page, 'steps/3-done.webp');
  await button(page, 'Convert another image').click();
  await choose(page, images.raw());
  await expect(button(page, 'Read it as a raw disk')).toBeVisible();
  await shoot(page, 'steps/4-question.webp');
});

test('compact, in a dialog', async ({ page, servers }, testInfo) => {
  serveGates(servers.isolated);
  const dialog =
    '<dialog><h2>Import a disk</h2><decant-converter compact></decant-converter><footer><button>Close</button></footer></dialog>';
  const script = `
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(${JSON.stringify(STYLE)});
    document.adoptedStyleSheets = [sheet];
    converter.places = ['openstack'];
    converter.output = () => ({ write: async () => {}, close: async () => {}, abort: async () => {} });
    document.querySelector('dialog').show();`;
  await page.setViewportSize({ width: 560, height: 400 });
  await openHost(page, servers.isolated, dialog, script);
  await choose(page, appliance(testInfo.outputPath('web.vmdk')));
  await expect(page.locator('.lane').getByText('ext4')).toBeAttached();
  await stopMidway(page, 'web.vmdk', () => button(page, 'Convert').click());
  await shoot(page, 'steps/compact.webp', false);
});

/** The width of the film, in pixels. */
const FILM_WIDTH = 480;

/** The parts of a film: [file, milliseconds]. */
type Frames = [path: string, shown: number][];

test('a film of a conversion', async ({ page, servers }, testInfo) => {
  serveGates(servers.isolated);
  await page.setViewportSize({ width: 800, height: 800 });
  await page.addInitScript(() => {
    Reflect.deleteProperty(window, 'showDirectoryPicker');
    Reflect.deleteProperty(window, 'showSaveFilePicker');
  });
  const frames: Frames = [];
  const film = async (shown: number) => {
    const path = testInfo.outputPath(`${frames.length}.png`);
    writeFileSync(path, await converted(page, await page.screenshot(), { type: 'image/png' }, FILM_WIDTH));
    frames.push([path, shown]);
  };
  /** Films a change while it happens. */
  const filmAll = async (count: number) => {
    for (let frame = 0; frame < count; frame += 1) await film(100);
  };
  await page.goto('/');
  await expect(button(page, 'Choose a file')).toBeVisible();
  await film(900);
  const image = appliance(testInfo.outputPath('web.vmdk'));
  const release = await dragOver(page, image);
  await filmAll(3);
  await film(600);
  await release();
  await expect(page.locator('.lane').getByText('ext4')).toBeVisible();
  await page.getByRole('radio', { name: 'Azure' }).check();
  await expect(page.locator('.made', { hasText: 'to your downloads' })).toBeVisible();
  await page
    .locator('decant-converter')
    .evaluate(({ shadowRoot }) => (shadowRoot!.activeElement as HTMLElement).blur());
  await page.evaluate(() => scrollTo(0, 0));
  await film(1600);
  const gates = ([20, 40, 60, 80] as const).map((from) => fifthOf('web.vmdk', from));
  const opens: (() => Promise<void>)[] = [];
  for (const gate of gates) opens.push(await closeGate(page, gate));
  await button(page, 'Convert').click();
  await filmAll(3);
  for (const [at, gate] of gates.entries()) {
    await arriveAt(page, gate);
    await opens[at]!();
    await filmAll(3);
  }
  await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible();
  await page
    .locator('decant-converter')
    .evaluate(({ shadowRoot }) => (shadowRoot!.activeElement as HTMLElement).blur());
  await filmAll(3);
  await film(2500);
  const output = fileURLToPath(new URL('../../docs/film.webp', import.meta.url));
  const shown = frames.flatMap(([path, shown]) => ['-d', String(shown), path]);
  execFileSync('img2webp', ['-loop', '0', '-lossy', '-q', '35', '-m', '6', ...shown, '-o', output]);
});
