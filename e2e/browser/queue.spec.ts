// Several images: the one to open, companions of others, and the queue.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '../support/browser.js';
import { closeGate, fifthOf, useGates } from '../support/gates.js';
import { images, qemuImg, sparse, splitVmdk } from '../support/images.js';
import { audit, choose, drop, look, lookAgain } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

const queue = (page: Page) => page.getByRole('region', { name: 'Queue' });

/** The queue has these rows. */
async function expectQueue(page: Page, ...texts: string[]): Promise<void> {
  const rows = queue(page).getByRole('listitem');
  await expect(rows).toContainText(texts);
  await expect(rows).toHaveCount(texts.length);
}

/** Notes the height of the card, and whether places are shown, whenever something is rendered after the first conversion has begun. */
async function watchFrames(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const frames: string[] = [];
    Object.assign(window, { frames });
    const root = document.querySelector('decant-converter')!.shadowRoot!;
    new MutationObserver(() => {
      const title = root.querySelector<HTMLElement>('[data-heading]')?.dataset.heading ?? '';
      const isWork = /^(Converting|Reading|Finishing) /.test(title);
      if (frames.length === 0 && !title.startsWith('Converting ')) return;
      const height = Math.round(root.querySelector('.card')!.getBoundingClientRect().height);
      frames.push(isWork ? `work ${height}` : root.querySelector('.tile') ? 'places' : 'end');
    }).observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  return () => page.evaluate(() => [...new Set((window as unknown as { frames: string[] }).frames)]);
}

async function convert(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'As a download' }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
}

test(
  'several images are converted one after the other, each with its result',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    await drop(page, [images.states(), images.kinds(), images.truncated()]);
    await expect(page.getByRole('heading', { name: 'kinds.qcow2' })).toBeVisible();
    await expectQueue(page, 'kinds.qcow2 open now', 'states.qcow2 waiting', 'truncated.qcow2 waiting');
    await look(page, testInfo, 'queue');
    await convert(page);
    await page.getByRole('button', { name: 'Open the next image' }).click();
    await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeFocused();
    await expectQueue(
      page,
      'kinds.qcow2 converted; see kinds.raw in your downloads',
      'states.qcow2 open now',
      'truncated.qcow2 waiting',
    );
    await convert(page);
    await page.getByRole('button', { name: 'Open the next image' }).click();
    await expect(page.getByRole('heading', { name: '2 of 3 converted' })).toBeFocused();
    await expect(page.getByRole('heading', { name: 'truncated.qcow2 could not be opened' })).toBeVisible();
    await expectQueue(
      page,
      'see kinds.raw in your downloads',
      'see states.raw in your downloads',
      'truncated.qcow2 The image is cut o',
    );
    await expect(page.getByRole('button', { name: 'Open the next image' })).toHaveCount(0);
    await audit(page);
    await expect(page).toHaveTitle(/^2 of 3 converted/);
    await page.getByRole('button', { name: 'Choose another file' }).click();
    await expect(page).toHaveTitle(/^Decant: /);
  },
);

test('five images take three clicks: a drop, a place, and one that converts all', async ({ page }, testInfo) => {
  const names = ['one', 'two', 'three', 'four', 'five'];
  await page.addInitScript(() => {
    // The browser's dialog cannot be driven.
    Object.assign(window, { showDirectoryPicker: () => navigator.storage.getDirectory() });
  });
  await page.reload();
  const paths = names.map((name, at) => {
    const raw = testInfo.outputPath(`${name}.raw`);
    writeFileSync(raw, Buffer.alloc(1 << 20).fill(at + 1, 0, 100_000));
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, testInfo.outputPath(`${name}.qcow2`));
    return testInfo.outputPath(`${name}.qcow2`);
  });
  await drop(page, paths);
  await page.getByRole('radio', { name: 'To a folder' }).click();
  const frames = await watchFrames(page);
  await page.getByRole('button', { name: 'Convert all 5' }).click();
  await expectQueue(
    page,
    ...['five', 'four', 'one', 'three', 'two'].map((name) => `${name}.qcow2 saved as ${name}.raw`),
  );
  // From the first image to the last, the card stays as it is.
  expect(await frames()).toEqual([expect.stringMatching(/^work /), 'end']);
  const bytes = await page.evaluate(async (all) => {
    const folder = await navigator.storage.getDirectory();
    const first = async (name: string) => (await folder.getFileHandle(`${name}.raw`)).getFile();
    return Promise.all(all.map(async (name) => new Uint8Array(await (await first(name)).slice(0, 1).arrayBuffer())[0]));
  }, names);
  expect(bytes).toEqual([1, 2, 3, 4, 5]);
});

test('one of four images is truncated, and two have one name: no question, and the end says how many', async ({
  page,
}, testInfo) => {
  await page.addInitScript(() => {
    const picked = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('picked', { create: true });
    Object.assign(window, { showDirectoryPicker: picked });
  });
  await page.reload();
  const [raw, vdi, vhdx] = ['content', 'disk.vdi', 'disk.vhdx'].map((name) => testInfo.outputPath(name));
  writeFileSync(raw!, Buffer.alloc(1 << 20, 7));
  qemuImg('convert', '-f', 'raw', '-O', 'vdi', raw!, vdi!);
  qemuImg('convert', '-f', 'raw', '-O', 'vhdx', raw!, vhdx!);
  await drop(page, [vdi!, vhdx!, images.states(), images.truncated()]);
  await page.getByRole('radio', { name: 'AWS' }).check();
  await page.getByRole('radio', { name: 'To a folder' }).click();
  await page.getByRole('button', { name: 'Convert all 4' }).click();
  await expect(page.getByRole('heading', { name: '3 of 4 converted' })).toBeFocused();
  await expectQueue(
    page,
    'disk.vdi saved as disk.vmdk in picked, ',
    'disk.vhdx saved as disk-1.vmdk in picked, ',
    'states.qcow2 saved as states.vmdk in picked, ',
    'truncated.qcow2 The image is cut o',
  );
  await expect(page).toHaveTitle(/^3 of 4 converted/);
  await expect(page.getByRole('status')).toContainText('3 of 4 converted. Not converted: truncated.qcow2.');
  await look(page, testInfo, 'overall');
  // Each has its own commands and details.
  await expect(page.locator('.below .next')).toHaveCount(0);
  await page.getByText('Commands and details').nth(1).click();
  await expect(queue(page).getByRole('listitem').nth(1).locator('code').first()).toContainText('disk-1.vmdk');
  await lookAgain(page, testInfo, 'result');
  await page.getByText('Commands and details').nth(1).click();
  const made = await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('picked');
    const names: string[] = [];
    for await (const name of folder.keys()) names.push(name);
    return names.toSorted();
  });
  expect(made).toEqual(['disk-1.vmdk', 'disk.vmdk', 'states.vmdk']);
  await page.getByRole('button', { name: 'Salvage truncated.qcow2' }).click();
  await expect(page.getByText('Damaged: unreadable parts become zeros').first()).toBeVisible();
  await expectQueue(page, 'disk.vdi', 'disk.vhdx', 'states.qcow2', 'truncated.qcow2 open now');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByRole('heading', { name: '4 of 4 converted' })).toBeFocused();
  await expect(page.getByText('Converted, but damaged: truncated.qcow2.').first()).toBeVisible();
  await audit(page);
});

test('a queued image can be opened before its turn, and removed', { tag: '@full' }, async ({ page }) => {
  await drop(page, [images.states(), images.kinds(), images.empty()]);
  await expectQueue(page, 'empty.qcow2 open now', 'kinds.qcow2 waiting', 'states.qcow2 waiting');
  await page.getByRole('button', { name: 'Open kinds.qcow2' }).click();
  await expectQueue(page, 'empty.qcow2 waiting', 'kinds.qcow2 open now', 'states.qcow2 waiting');
  await page.getByRole('button', { name: 'Remove empty.qcow2' }).click();
  await page.getByRole('button', { name: 'Choose another file' }).click();
  await expectQueue(page, 'states.qcow2 waiting');
  await page.getByRole('button', { name: 'Open states.qcow2' }).click();
  await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeVisible();
  await expect(queue(page)).toHaveCount(0);
});

test(
  'a dropped image takes the place of the open one, which waits; another file is skipped',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const notes = testInfo.outputPath('notes.pdf');
    writeFileSync(notes, 'no disk');
    await drop(page, [images.states()]);
    await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeVisible();
    await page.getByLabel('File name').fill('mine.raw');
    await drop(page, [notes]);
    await expect(page.getByText('Skipped, not a disk image: notes.pdf.').first()).toBeVisible();
    await expect(page.getByLabel('File name')).toHaveValue('mine.raw');
    await drop(page, [images.kinds()]);
    await expectQueue(page, 'states.qcow2 waiting', 'kinds.qcow2 open now');
    await page.getByRole('button', { name: 'Open states.qcow2' }).click();
    await expectQueue(page, 'states.qcow2 open now', 'kinds.qcow2 waiting');
    await expect(page.getByLabel('File name')).toHaveValue('mine.raw');
  },
);

test('the focus stays near what is removed', { tag: '@full' }, async ({ page }) => {
  await drop(page, [images.states(), images.kinds(), images.empty()]);
  await expectQueue(page, 'empty.qcow2 open now', 'kinds.qcow2 waiting', 'states.qcow2 waiting');
  await page.getByRole('button', { name: 'Remove states.qcow2' }).press('Enter');
  await expect(page.getByRole('button', { name: 'Remove kinds.qcow2' })).toBeFocused();
  await page.getByRole('button', { name: 'Remove kinds.qcow2' }).press('Enter');
  await expect(queue(page)).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Choose another file' })).toBeFocused();
});

test('a file that another one refers to is its companion, whatever else is dropped', async ({ page }, testInfo) => {
  const { top, below } = images.chain();
  const notes = testInfo.outputPath('notes.txt');
  writeFileSync(notes, 'no disk');
  await drop(page, [below[1]!, images.states(), notes, below[0]!, top]);
  await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeVisible();
  await expectQueue(page, 'states.qcow2 open now', 'top.qcow2 waiting');
  await expect(page.getByText('Skipped, not a disk image: notes.txt.').first()).toBeVisible();
  await page.getByRole('button', { name: 'Open top.qcow2' }).click();
  await expect(page.getByText('top.qcow2, middle.qcow2, base.qcow2')).toBeVisible();
  await expect(page.getByText('Not used')).toHaveCount(0);
});

test(
  'images dropped with a file that is missing wait in the queue, and what is no image is left out',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const { top, below } = images.chain();
    const notes = testInfo.outputPath('notes.txt');
    writeFileSync(notes, 'no disk');
    await choose(page, top);
    await expect(page.getByRole('heading', { name: 'Also add middle.qcow2' })).toBeVisible();
    // Including the base of a missing file.
    await drop(page, [images.states(), below[1]!, notes]);
    await expect(page.getByText("not match the missing file's name").first()).toBeVisible();
    await expect(queue(page)).toHaveCount(0);
    await drop(page, [images.kinds(), below[0]!]);
    await expect(page.getByText('top.qcow2, middle.qcow2, base.qcow2')).toBeVisible();
    await expectQueue(page, 'top.qcow2 open now', 'kinds.qcow2 waiting', 'states.qcow2 waiting');
    await expect(page.getByText('Skipped, not a disk image: notes.txt.').first()).toBeVisible();
    await expect(page.getByText('Not used')).toHaveCount(0);
  },
);

test('a folder gives its files, and a drop beside the card is taken', { tag: '@full' }, async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('disks');
  mkdirSync(folder);
  copyFileSync(images.kinds(), join(folder, 'one.qcow2'));
  copyFileSync(images.empty(), join(folder, 'two.qcow2'));
  await drop(page, folder);
  await expect(page.getByRole('heading', { name: 'one.qcow2' })).toBeVisible();
  await expectQueue(page, 'one.qcow2 open now', 'two.qcow2 waiting');
  await page.reload();
  await drop(page, images.zlib(), { x: 5, y: 5 });
  await expect(page.getByRole('heading', { name: 'zlib.qcow2' })).toBeVisible();
});

test('a folder of very many files is refused', { tag: '@full' }, async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('many');
  mkdirSync(folder);
  for (let number = 0; number < 250; number += 1) writeFileSync(join(folder, `${number}.img`), 'x');
  await drop(page, folder);
  await expect(page.getByText('More than 200 files.').first()).toBeVisible();
});

test('a folder of ten thousand texts and one disk opens the disk', { tag: '@full' }, async ({ page }, testInfo) => {
  const folder = testInfo.outputPath('many');
  mkdirSync(folder);
  for (let number = 0; number < 5000; number += 1) {
    writeFileSync(join(folder, `${number}.txt`), 'Words.');
    writeFileSync(join(folder, `README-${number}`), number % 2 === 0 ? '' : 'Words and no NUL.\n'.repeat(100));
  }
  copyFileSync(images.kinds(), join(folder, 'kinds.qcow2'));
  await drop(page, folder);
  await expect(page.getByRole('heading', { name: 'kinds.qcow2' })).toBeVisible();
  await expect(page.getByText(/^Skipped, not a disk image: .* and 9996 more\.$/).first()).toBeVisible();
  await expect(queue(page)).toHaveCount(0);
});

test.describe('while it converts', () => {
  useGates();

  test(
    'a drop waits in the queue if it is an image, and the page says so',
    { tag: '@full' },
    async ({ page }, testInfo) => {
      await choose(page, sparse(64 << 20).image);
      await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
      const goOn = await closeGate(page, fifthOf('sparse-64.qcow2', 60));
      await convert(page);
      await expect(page.getByRole('heading', { name: 'Converting sparse-64.qcow2' })).toBeVisible();
      const client = await page.context().newCDPSession(page);
      const data = { items: [], files: [images.states()], dragOperationsMask: 1 };
      for (const type of ['dragEnter', 'dragOver'] as const) {
        await client.send('Input.dispatchDragEvent', { type, x: 5, y: 5, data });
      }
      await expect(page.getByText('Drop to add it to the queue')).toBeVisible();
      await client.send('Input.dispatchDragEvent', { type: 'drop', x: 5, y: 5, data });
      await expect(page.getByText('Added to the queue: states.qcow2.').first()).toBeVisible();
      await expect(page.getByText('Drop to add it to the queue')).toHaveCount(0);
      const paper = testInfo.outputPath('paper.pdf');
      writeFileSync(paper, '%PDF-1.7 and so on');
      await drop(page, paper);
      await expect(page.getByText('Skipped, not a disk image: paper.pdf.').first()).toBeVisible();
      await expect(page.getByRole('heading', { name: 'Converting sparse-64.qcow2' })).toBeVisible();
      await expectQueue(page, 'sparse-64.qcow2 open now', 'states.qcow2 waiting');
      await goOn();
      await page.getByRole('button', { name: 'Open the next image' }).click();
      await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeVisible();
    },
  );
});

test(
  'what is dropped on an image that waits for a password queues, and the page says so until it is removed',
  { tag: '@full' },
  async ({ page }) => {
    await choose(page, images.luks());
    await page.getByLabel('Password for luks.qcow2').fill('half of');
    await drop(page, images.states());
    await expectQueue(page, 'luks.qcow2 open now', 'states.qcow2 waiting');
    await expect(page.getByText('Added to the queue: states.qcow2.').first()).toBeVisible();
    await expect(page.getByLabel('Password for luks.qcow2')).toHaveValue('half of');
    await page.getByRole('button', { name: 'Remove states.qcow2' }).click();
    await expect(page.getByText('Added to the queue')).toHaveCount(0);
  },
);

test(
  'images that refer to each other in a circle are images like those dropped with them',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const [one, two] = [testInfo.outputPath('one.qcow2'), testInfo.outputPath('two.qcow2')];
    qemuImg('create', '-q', '-f', 'qcow2', '-u', '-F', 'qcow2', '-b', 'two.qcow2', one, '5M');
    qemuImg('create', '-q', '-f', 'qcow2', '-u', '-F', 'qcow2', '-b', 'one.qcow2', two, '5M');
    await drop(page, [one, two, images.kinds()]);
    await expectQueue(page, 'kinds.qcow2 open now', 'one.qcow2 waiting', 'two.qcow2 waiting');
    await page.getByRole('button', { name: 'Open two.qcow2' }).click();
    await expect(page.getByRole('heading', { name: 'two.qcow2 could not be opened' })).toBeVisible();
  },
);

test('after a failure the next one is offered while there is one', { tag: '@full' }, async ({ page }) => {
  await drop(page, [images.truncated(), images.zlib()]);
  await expect(page.getByRole('heading', { name: 'truncated.qcow2 could not be opened' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Open the next image' })).toBeVisible();
  await page.getByRole('button', { name: 'Remove zlib.qcow2' }).click();
  await expect(page.getByRole('button', { name: 'Open the next image' })).toHaveCount(0);
});

test(
  'the extents of a VMDK come with its descriptor, and a download has the disk',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    mkdirSync(testInfo.outputDir, { recursive: true });
    const { descriptor, extents, disk } = splitVmdk(testInfo.outputDir);
    await drop(page, [extents[1]!, descriptor, extents[0]!]);
    await expect(page.getByRole('heading', { name: 'split.vmdk' })).toBeVisible();
    await expect(queue(page)).toHaveCount(0);
    const download = page.waitForEvent('download');
    await convert(page);
    const path = testInfo.outputPath('split.raw');
    await (await download).saveAs(path);
    expect(readFileSync(path).equals(disk)).toBe(true);
  },
);
