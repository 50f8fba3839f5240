// Wrong files for what an image refers to: what does not fit is said before anything is converted. And failures: the
// step that can work comes first.

import { copyFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '../support/browser.js';
import { makeCompressed } from '../support/compressed.js';
import { images, qemuImg } from '../support/images.js';
import { choose, drop, look, lookAgain } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

/** In `folder`: images over base.qcow2 or base.raw, and files that may be handed over for these. */
function makeFiles(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  const path = (name: string) => join(folder, name);
  qemuImg('create', '-q', '-f', 'qcow2', path('base.qcow2'), '5M');
  qemuImg('create', '-q', '-f', 'qcow2', path('small.qcow2'), '3M');
  copyFileSync(path('base.qcow2'), path('other.qcow2'));
  qemuImg('create', '-q', '-f', 'qcow2', '-u', '-F', 'qcow2', '-b', 'base.qcow2', path('over-qcow2.qcow2'), '5M');
  qemuImg('create', '-q', '-f', 'qcow2', '-u', '-F', 'raw', '-b', 'base.raw', path('over-raw.qcow2'), '5M');
  // The header extension that states the format gets an unknown number.
  const unstated = readFileSync(path('over-raw.qcow2'));
  unstated.writeUInt32BE(0x12345678, unstated.indexOf(Buffer.from('e2792aca', 'hex')));
  writeFileSync(path('over-unstated.qcow2'), unstated);
  const picture = readFileSync(new URL('../../docs/steps/ready.webp', import.meta.url));
  for (const name of ['picture.png', 'base.raw']) writeFileSync(path(name), picture);
  writeFileSync(path('sectors.raw'), Buffer.alloc(5 << 20, 1));
  const names = [
    'base.qcow2',
    'small.qcow2',
    'other.qcow2',
    'over-qcow2.qcow2',
    'over-raw.qcow2',
    'over-unstated.qcow2',
  ];
  return Object.fromEntries([...names, 'picture.png', 'base.raw', 'sectors.raw'].map((name) => [name, path(name)]));
}

const chooseFor = (page: Page, file: string) => page.getByLabel('Choose the backing file').setInputFiles(file);

// (image, file for it, what is said of it)
for (const [top, file, ...doubts] of [
  ['over-qcow2.qcow2', 'other.qcow2', 'The image asks for base.qcow2, not other.qcow2.'],
  ['over-qcow2.qcow2', 'small.qcow2', 'not small.qcow2', 'has 3.1 MB, the disk in over-qcow2.qcow2 has 5.2 MB'],
  ['over-raw.qcow2', 'base.qcow2', 'is qcow2, but over-raw.qcow2 expects a raw disk'],
  ['over-raw.qcow2', 'base.raw', 'base.raw is probably not a disk: its size is not a multiple of 512'],
  ['over-raw.qcow2', 'picture.png', 'not picture.png', 'picture.png is probably not a disk'],
  ['over-unstated.qcow2', 'sectors.raw', 'not sectors.raw', 'It would be read as a raw disk.'],
] as const) {
  // One in the short run: element/opening/doubts.test.ts has them all.
  const tag = file === 'small.qcow2' ? [] : ['@full'];
  test(`${file} as the backing file of ${top} is in doubt`, { tag }, async ({ page }, testInfo) => {
    const files = makeFiles(testInfo.outputPath('files'));
    await choose(page, files[top]!);
    await chooseFor(page, files[file]!);
    await expect(page.getByRole('heading', { name: `${file} may be the wrong backing file` })).toBeFocused();
    for (const doubt of doubts) await expect(page.getByText(doubt)).toBeVisible();
    await look(page, testInfo, 'doubt');
    // Back to the question, and then all the same.
    await page.getByRole('button', { name: 'Choose another backing file' }).click();
    await expect(page.getByRole('heading', { name: /^Also add base\./ })).toBeFocused();
    await chooseFor(page, files[file]!);
    await page.getByRole('button', { name: 'Use it anyway' }).click();
    await expect(page.getByRole('radio', { name: 'As a download' })).toBeVisible();
    await expect(page.getByText(`${top}, ${file}`)).toBeVisible();
  });
}

test(
  'a file that cannot be the backing file leads back to the question, with the reason',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const files = makeFiles(testInfo.outputPath('files'));
    await choose(page, files['over-qcow2.qcow2']!);
    await chooseFor(page, files['picture.png']!);
    await expect(page.locator('.bad')).toHaveText(
      /^picture\.png: This is not the right file: .* format qcow2\. Choose another file\.$/,
    );
    await expect(page.getByRole('heading', { name: 'Also add base.qcow2' })).toBeFocused();
    await lookAgain(page, testInfo, 'refused');
    await chooseFor(page, files['base.qcow2']!);
    await expect(page.getByText('over-qcow2.qcow2, base.qcow2')).toBeVisible();
  },
);

test('the right file dropped on a doubt about another one is taken', { tag: '@full' }, async ({ page }, testInfo) => {
  const files = makeFiles(testInfo.outputPath('files'));
  const top = testInfo.outputPath('top.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', '-u', '-F', 'qcow2', '-b', 'below/base.qcow2', top, '5M');
  await choose(page, top);
  await chooseFor(page, files['other.qcow2']!);
  await expect(page.getByRole('heading', { name: 'other.qcow2 may be the wrong backing file' })).toBeVisible();
  await drop(page, files['base.qcow2']!);
  await expect(page.getByText('top.qcow2, base.qcow2')).toBeVisible();
});

test(
  'the same dropped under the right name: the way back is offered first',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const files = makeFiles(testInfo.outputPath('files'));
    copyFileSync(files['picture.png']!, files['base.qcow2']!);
    await choose(page, files['over-qcow2.qcow2']!, files['base.qcow2']!);
    await expect(page.locator('.bad')).toContainText('base.qcow2: This is not the right file');
    await expect(page.locator('.actions button').first()).toHaveText('Choose the files it needs again');
    await page.getByRole('button', { name: 'Choose the files it needs again' }).click();
    await expect(page.getByRole('heading', { name: 'Also add base.qcow2' })).toBeVisible();
  },
);

test(
  'a base under another name, dropped and then chosen, is used, and nothing else is said',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const files = makeFiles(testInfo.outputPath('files'));
    await choose(page, files['over-qcow2.qcow2']!);
    await expect(page.getByRole('heading', { name: 'Also add base.qcow2' })).toBeVisible();
    await drop(page, files['other.qcow2']!);
    await expect(page.locator('.bad')).toHaveText("other.qcow2 does not match the missing file's name.");
    await page.getByRole('button', { name: 'Use other.qcow2 as the backing file' }).click();
    await expect(page.getByText('over-qcow2.qcow2, other.qcow2')).toBeVisible();
    await expect(page.getByText('Not used')).toHaveCount(0);
  },
);

test(
  'a smaller backing file of the right name is told before it is converted',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const files = makeFiles(testInfo.outputPath('files'));
    copyFileSync(files['small.qcow2']!, files['base.qcow2']!);
    await choose(page, files['over-qcow2.qcow2']!);
    await chooseFor(page, files['base.qcow2']!);
    await expect(page.getByText('Zeros fill the difference').first()).toBeVisible();
    await expect(page.getByRole('radio', { name: 'As a download' })).toBeVisible();
  },
);

test(
  'after a failure the step that can work comes first, and the file is named',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const file = (name: string, content: Buffer | string) => {
      const path = testInfo.outputPath(name);
      writeFileSync(path, content);
      return path;
    };
    const image = testInfo.outputPath('image.qcow2');
    makeCompressed(image);
    const cut = (name: string, length: number) => {
      const path = testInfo.outputPath(name);
      copyFileSync(image, path);
      truncateSync(path, length);
      return path;
    };
    // (file, first step, all others)
    const table: [path: string, first: string, others: string[]][] = [
      [file('paper.pdf', '%PDF-1.7 and so on'), 'Choose another file', []],
      [file('nothing.qcow2', ''), 'Choose another file', []],
      [file('nothing.img', ''), 'Choose another file', []],
      [file('disk.img', Buffer.alloc(4096, 7)), 'Read it as a raw disk', ['Choose another file']],
      [cut('short.qcow2', 70), 'Choose another file', []],
      [cut('header.qcow2', 4096), 'Choose another file', []],
      [cut('half.qcow2', statSync(image).size / 2), 'Salvage the readable parts', ['Choose another file']],
      [file('machine.vmdk', Buffer.concat([Buffer.from('KDMV'), Buffer.alloc(4092)])), 'Choose another file', []],
    ];
    for (const [path, first, others] of table) {
      const name = path.split('/').at(-1)!;
      await choose(page, path);
      const isQuestion = first === 'Read it as a raw disk';
      const heading = isQuestion ? `Is ${name} a raw disk?` : `${name} could not be opened`;
      await expect(page.getByRole('heading', { name: heading })).toBeVisible();
      await expect(page.locator('.actions button'), name).toHaveText([first, ...others]);
      await page.getByRole('button', { name: 'Choose another file' }).click();
    }
  },
);

test(
  'an image that has changed since it was chosen: another one, and by its handle once more',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const path = testInfo.outputPath('disk.qcow2');
    copyFileSync(images.kinds(), path);
    await choose(page, path);
    await page.getByRole('radio', { name: 'As a download' }).click();
    copyFileSync(images.states(), path);
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'disk.qcow2 could not be converted' })).toBeVisible();
    await expect(page.locator('.actions button')).toHaveText(['Choose another file']);
    await page.getByRole('button', { name: 'Choose another file' }).click();
    // A drop gives a handle, which reads the current content of the file.
    await drop(page, path);
    await page.getByRole('radio', { name: 'As a download' }).click();
    copyFileSync(images.kinds(), path);
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'disk.qcow2 could not be converted' })).toBeVisible();
    await expect(page.locator('.actions button')).toHaveText(['Try again', 'Choose another file']);
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect(page.getByRole('definition').getByText('10.5 MB', { exact: true })).toBeVisible();
    await expect(page.getByText('so far')).toHaveCount(0);
    // There is nothing in it to try again.
    truncateSync(path, 0);
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'disk.qcow2 could not be converted' })).toBeVisible();
    await expect(page.locator('.actions button')).toHaveText(['Choose another file']);
  },
);

test.describe('where nothing is kept for offline use', () => {
  test.use({ serviceWorkers: 'block' });
  test('the file that could not be loaded is named', { tag: '@full' }, async ({ page }) => {
    await page.route('**/decant*.wasm', (route) => route.fulfill({ status: 503 }));
    await page.reload();
    await choose(page, images.kinds());
    await expect(page.getByRole('heading', { name: 'kinds.qcow2 could not be opened' })).toBeVisible();
    await expect(page.locator('.bad')).toContainText('decant');
    await expect(page.locator('.actions button').first()).toHaveText('Try again');
    await page.unroute('**/decant*.wasm');
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect(page.getByRole('heading', { name: /^kinds\.qcow2$/ })).toBeVisible();
  });
});
