// The page of the Electron example in Chromium. Electron is not available here: an object in the page replaces the API of its
// preload script, and the page comes from `file://`, or by a route from the handler of the example's scheme.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { electron } from '../support/consumers/electron.js';
import { addStub, answer, drop, tell } from '../support/consumers/stub-bridge.js';
import { look } from '../support/page.js';

test.use({
  launchOptions: async ({ launchOptions }, use) => {
    await use({ ...launchOptions, args: [...(launchOptions.args ?? []), '--allow-file-access-from-files'] });
  },
});

const notice = (message: string) => ({ code: 'disk-grows', fields: {}, message });
const OUTPUTS = [
  { name: 'raw', label: 'Raw disk', extension: '.raw', size: 24e6, notices: [] },
  { name: 'vpc', label: 'Fixed VHD', extension: '.vhd', size: 25e6, notices: [notice('The disk is made larger')] },
  { name: 'none', label: 'Not this', extension: '.none', notices: [], refusal: 'It is too large' },
];
const IMAGE = { name: 'disk.qcow2', format: 'qcow2', virtualSize: 24e6, needs: [], safety: [], formats: OUTPUTS };
const MISSING = { kind: 'missing-file', role: 'backing file', name: 'base.qcow2', of: 'disk.qcow2' };
const RESULT = { outputSize: 24e6, notices: [], lostBytes: 0, seconds: 3 };

async function openPage(page: Page): Promise<void> {
  const { folder } = await electron();
  await addStub(page);
  await page.goto(pathToFileURL(join(folder, 'renderer', 'index.html')).href);
}

/** Opens an image and presses the button that converts it. */
async function begin(page: Page): Promise<void> {
  await openPage(page);
  await page.getByRole('button', { name: 'Choose an image…' }).click();
  await answer(page, 'chooseImage', { value: IMAGE });
  await page.getByRole('button', { name: 'Convert to…' }).click();
}

test('from a choice to a result, by the keyboard', { tag: '@long' }, async ({ page }) => {
  await openPage(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await answer(page, 'chooseImage', { value: IMAGE });
  await expect(page.getByRole('heading', { name: 'disk.qcow2' })).toBeFocused();
  await expect(page.getByText('qcow2, a disk of 24 MB')).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByLabel('Format')).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(page.getByText('The disk is made larger')).toBeVisible();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await answer(page, 'chooseOutput', { value: 'disk.vhd' })).toEqual(['vpc']);
  await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await tell(page, { phase: 'converting', share: 0.5, bytesPerSecond: 3e8, secondsLeft: 75 });
  const bar = page.getByRole('progressbar', { name: 'Converting: 50%, 300 MB/s, 1 min left' });
  await expect(bar).toHaveAttribute('value', '0.5');
  await expect(page.getByText('50%', { exact: true })).toHaveAttribute('aria-live', 'polite');
  await answer(page, 'convert', { value: RESULT });
  await expect(page.getByRole('status')).toHaveText('Saved disk.vhd: 24 MB in 3 s.');
  await expect(bar).toBeHidden();
  await expect(page.getByRole('heading', { name: 'disk.qcow2' })).toBeFocused();
  await expect(page.getByRole('alert')).toBeEmpty();
});

test('what is lost is said', { tag: '@long' }, async ({ page }) => {
  await begin(page);
  await answer(page, 'chooseOutput', { value: 'disk.raw' });
  await answer(page, 'convert', { value: { ...RESULT, lostBytes: 65536, notices: [notice('It was rounded')] } });
  const said = 'Saved disk.raw: 24 MB in 3 s. It was rounded. 65.5 KB could not be read and are zeros.';
  await expect(page.getByRole('status')).toHaveText(said);
});

test('a dialog that is closed: the focus stays', { tag: '@long' }, async ({ page }) => {
  await begin(page);
  await answer(page, 'chooseOutput', { value: null });
  await expect(page.getByRole('button', { name: 'Convert to…' })).toBeFocused();
  await expect(page.getByRole('progressbar')).toBeHidden();
});

test('an image is dropped, then what it needs', { tag: '@long' }, async ({ page }) => {
  await openPage(page);
  await drop(page, 'disk.qcow2');
  const needs = [MISSING, { kind: 'password', of: 'disk.qcow2' }];
  expect(await answer(page, 'openImage', { value: { ...IMAGE, needs } })).toEqual(['disk.qcow2']);
  await expect(page.getByText('base.qcow2: backing file of disk.qcow2')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Add files…' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Convert to…' })).toBeHidden();
  await drop(page, 'base.qcow2', 'other.qcow2');
  const unlocked = { ...IMAGE, needs: needs.slice(1) };
  expect(await answer(page, 'addCompanions', { value: unlocked })).toEqual([['base.qcow2', 'other.qcow2']]);
  await page.getByLabel('Password').fill('secret');
  await page.keyboard.press('Enter');
  expect(await answer(page, 'givePassword', { value: IMAGE })).toEqual(['secret']);
  await expect(page.getByLabel('Password')).toBeHidden();
  await expect(page.getByLabel('Password')).toHaveValue('');
  await expect(page.getByRole('button', { name: 'Convert to…' })).toBeEnabled();
});

test('two images at once are refused', { tag: '@long' }, async ({ page }) => {
  await openPage(page);
  await drop(page, 'a.qcow2', 'b.qcow2');
  await expect(page.getByRole('alert')).toHaveText(/^Drop the image alone/);
});

test('nothing else begins while something is under way', { tag: '@long' }, async ({ page }) => {
  await begin(page);
  await drop(page, 'other.qcow2');
  await answer(page, 'chooseOutput', { value: 'disk.raw' });
  await expect(page.getByRole('button', { name: 'Choose an image…' })).toBeDisabled();
  const calls = await page.evaluate(() => globalThis.stub.calls.map(([name]) => name));
  expect(calls).toEqual(['chooseImage', 'chooseOutput', 'convert']);
});

test('a cancel', { tag: '@long' }, async ({ page }) => {
  await begin(page);
  await answer(page, 'chooseOutput', { value: 'disk.raw' });
  await page.getByRole('button', { name: 'Cancel' }).click();
  await answer(page, 'cancel', {});
  await answer(page, 'convert', { error: { kind: 'cancelled', message: 'The conversion was cancelled' } });
  await expect(page.getByRole('status')).toHaveText('Cancelled. Nothing was saved.');
  await expect(page.getByRole('alert')).toBeEmpty();
  await expect(page.getByRole('progressbar')).toBeHidden();
});

for (const [kind, advice] of [
  ['corrupt', ' Get a new copy of the image.'],
  ['target', ' Choose another place to save to.'],
  ['limit', ''],
]) {
  test(`an error: ${kind}`, { tag: '@long' }, async ({ page }) => {
    await begin(page);
    await answer(page, 'chooseOutput', { value: 'disk.raw' });
    await answer(page, 'convert', { error: { kind, message: 'It is <b>so</b>' } });
    await expect(page.getByRole('alert')).toHaveText(`It is <b>so</b>.${advice}`);
    await expect(page.getByRole('button', { name: 'Convert to…' })).toBeEnabled();
  });
}

/** The page as served by the example's scheme, at a URL that Chromium accepts. */
async function openServed(page: Page): Promise<void> {
  const { folder } = await electron();
  const { respond } = (await import(pathToFileURL(join(folder, 'main', 'pages.js')).href)) as {
    respond(url: string): Promise<Response>;
  };
  await page.route('http://decant.test/**', async (route) => {
    const served = await respond(`app://decant${new URL(route.request().url()).pathname}`);
    const headers = Object.fromEntries(served.headers);
    await route.fulfill({ status: served.status, headers, body: Buffer.from(await served.arrayBuffer()) });
  });
  await addStub(page);
  await page.goto('http://decant.test/');
}

test('under its policy the page works, and no other script or page is loaded', { tag: '@long' }, async ({ page }) => {
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(error.message));
  await openServed(page);
  await page.getByRole('button', { name: 'Choose an image…' }).click();
  await answer(page, 'chooseImage', { value: IMAGE });
  await expect(page.getByRole('button', { name: 'Convert to…' })).toBeVisible();
  expect(said.filter((text) => !text.includes('favicon'))).toEqual([]);
  const violated = await page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        const directives: string[] = [];
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
          if (directives.push(effectiveDirective) === 2) resolve(directives);
        });
        const elsewhere = 'http://elsewhere.test/';
        const frame = Object.assign(document.createElement('iframe'), { src: elsewhere });
        const picture = Object.assign(document.createElement('img'), { src: elsewhere });
        document.body.append(frame, picture);
      }),
  );
  expect(violated.sort()).toEqual(['frame-src', 'img-src']);
});

test(
  'axe finds nothing and nothing overflows, wide and light, narrow and dark',
  { tag: '@long' },
  async ({ page }, testInfo) => {
    await openPage(page);
    await look(page, testInfo, 'start');
    await page.getByRole('button', { name: 'Choose an image…' }).click();
    const needs = [MISSING, { kind: 'password', of: 'disk.qcow2' }];
    await answer(page, 'chooseImage', { value: { ...IMAGE, name: 'a'.repeat(100), needs, safety: ['It is odd'] } });
    await look(page, testInfo, 'missing');
    await drop(page, 'base.qcow2');
    await answer(page, 'addCompanions', { value: { ...IMAGE, needs: needs.slice(1) } });
    await look(page, testInfo, 'password');
    await page.getByLabel('Password').fill('secret');
    await page.keyboard.press('Enter');
    await answer(page, 'givePassword', { value: IMAGE });
    await page.getByRole('button', { name: 'Convert to…' }).click();
    await answer(page, 'chooseOutput', { value: 'disk.raw' });
    await tell(page, { phase: 'converting', share: 0.5, bytesPerSecond: 3e8, secondsLeft: 75 });
    await look(page, testInfo, 'converting');
    await answer(page, 'convert', { error: { kind: 'target', message: `No room is left for ${'a'.repeat(100)}` } });
    await expect(page.getByRole('alert')).toBeVisible();
    await look(page, testInfo, 'failed');
  },
);
