// The ways to download, what they cost, and what is said of them before, while and after a disk is saved.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { expect, type Page, test } from '../support/browser.js';
import { arriveAt, closeGate, fifthOf, useGates } from '../support/gates.js';
import { hashFile, images, sparse } from '../support/images.js';
import { choose, drop, limitStorage, look, lookAgain, setRates } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

async function download(page: Page, path: string): Promise<void> {
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await (await download).saveAs(path);
}

/** A disk that no private window can keep, with 2 MB of data. */
function large(path: string, size = '2200M'): string {
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', path, size]);
  execFileSync('qemu-io', ['-c', 'write -q -P 1 300M 1M', '-c', 'write -q -P 2 2100M 1M', path]);
  return path;
}

// (whether the storage has room, what was measured, words of the result, of its details)
for (const [hasRoom, measured, place, method, details] of [
  [
    false,
    { download: 1e9 },
    'The browser has received all of kinds.raw.',
    'downloading while converting',
    { tag: '@full' },
  ],
  [
    true,
    { streamed: 1e9 },
    'The browser is copying',
    "writing to the browser's storage, then copying",
    { tag: '@full' },
  ],
] as const) {
  test(
    `a download is streamed only without room, here ${!hasRoom}: the result says so`,
    details,
    async ({ page }, testInfo) => {
      if (!hasRoom) await limitStorage(page);
      await setRates(page, measured);
      await choose(page, images.kinds());
      await download(page, testInfo.outputPath('kinds.raw'));
      await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
      await expect(page.locator('#saving')).toContainText(place);
      await page.getByText('Details').click();
      await expect(page.getByText(method)).toBeVisible();
      await expect(page.getByText("10.5 MB in the browser's storage")).toHaveCount(hasRoom ? 1 : 0);
      await lookAgain(page, testInfo, 'done');
      const expected = testInfo.outputPath('expected.raw');
      execFileSync('qemu-img', ['convert', '-O', 'raw', images.kinds(), expected]);
      expect(hashFile(testInfo.outputPath('kinds.raw'))).toBe(hashFile(expected));
    },
  );
}

for (const [cores, isDigested, tag] of [
  [4, true, []],
  [2, false, ['@full']],
] as const) {
  test(
    `a streamed download on ${cores} cores has its SHA-256: ${isDigested}`,
    { tag: [...tag] },
    async ({ page }, testInfo) => {
      await page.addInitScript((cores) => {
        Object.defineProperty(navigator, 'hardwareConcurrency', { get: () => cores });
      }, cores);
      await page.reload();
      await limitStorage(page);
      await choose(page, images.kinds());
      const path = testInfo.outputPath('kinds.raw');
      await download(page, path);
      await expect(page.getByText('The browser has received all of kinds.raw.').first()).toBeVisible();
      await expect(page.locator('[aria-labelledby=digest] pre')).toHaveText(isDigested ? [hashFile(path)] : []);
      await expect(page.getByRole('button', { name: 'Compute its SHA-256' })).toHaveCount(0);
    },
  );
}

/** How many outputs the element remembers; 0 without a database. */
const remembered = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    if (!(await indexedDB.databases()).some(({ name }) => name === 'decant')) return 0;
    const settled = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => request.addEventListener('success', () => resolve(request.result)));
    const database = await settled(indexedDB.open('decant'));
    const count = await settled(database.transaction('unfinished').objectStore('unfinished').count());
    database.close();
    return count;
  });

test(
  'a streamed download that a reload has lost is mentioned once, until it is dismissed',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    await limitStorage(page, 8 << 20);
    // The browser never asks for the download.
    await page.evaluate(() => {
      Object.defineProperty(HTMLIFrameElement.prototype, 'src', { set() {} });
    });
    await choose(page, images.kinds());
    await page.getByRole('radio', { name: 'As a download' }).click();
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'Converting kinds.qcow2' })).toBeVisible();
    await expect.poll(() => remembered(page)).toBe(1);
    page.on('dialog', (dialog) => dialog.accept());
    await page.reload();
    const notice = page.locator('.notice');
    await expect(notice).toContainText(
      'interrupted, and its download kinds.raw is lost. A partial file in your downloads',
    );
    expect(await remembered(page)).toBe(0);
    await look(page, testInfo, 'lost');
    await notice.getByRole('button', { name: 'Dismiss' }).click();
    await expect(notice).toHaveCount(0);
  },
);

test('a download that the browser has not begun is begun once, is not disturbed, and can be cancelled', async ({
  page,
}) => {
  await limitStorage(page);
  // The browser does not ask for it until it is let.
  await page.evaluate(() => {
    const { set } = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, 'src')!;
    const held: (() => void)[] = [];
    Object.assign(window, { held });
    Object.defineProperty(HTMLIFrameElement.prototype, 'src', {
      set(address: string) {
        held.push(() => set!.call(this, address));
      },
    });
  });
  const held = () => page.evaluate(() => (window as unknown as { held: unknown[] }).held.length);
  await choose(page, images.kinds());
  await page.getByRole('radio', { name: 'As a download' }).click();
  await expect(page.getByText(/Takes the full/)).toBeVisible();
  await page.getByRole('button', { name: 'Convert', exact: true }).evaluate((button: HTMLElement) => {
    button.click();
    button.click();
  });
  await expect(page.getByRole('heading', { name: 'Converting kinds.qcow2' })).toBeFocused();
  await expect.poll(held).toBe(1);
  await drop(page, images.states());
  await expect(page.getByText('Added to the queue: states.qcow2.').first()).toBeVisible();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await held()).toBe(1);
  await page.evaluate(() => (window as unknown as { held: (() => void)[] }).held[0]!());
  await expect(page.getByRole('heading', { name: /^Cancelled\./ })).toBeVisible();
  await expect.poll(() => page.evaluate(() => document.querySelectorAll('iframe').length)).toBe(0);
});

test('a private window says beforehand what it can keep, and streams what it cannot', async ({ page }, testInfo) => {
  // No machine has sent it all before it is cancelled.
  await choose(page, large(testInfo.outputPath('large.qcow2'), '500G'));
  await expect(page.getByText(/This window can store about [\d.]+\s[MG]B, which is less than the disk/)).toBeVisible({
    timeout: 60_000,
  });
  await lookAgain(page, testInfo, 'private');
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  // In the browser's own list of downloads.
  await (await download).cancel();
  const words = 'Cancelled. The download of large.raw was not completed.';
  await expect(page.getByRole('heading', { name: words })).toBeVisible();
});

test('a private window saves a disk that it cannot keep', { tag: '@long' }, async ({ page }, testInfo) => {
  await choose(page, large(testInfo.outputPath('large.qcow2')));
  const saved = testInfo.outputPath('large.raw');
  await download(page, saved);
  await expect(page.getByText('The browser has received all of large.raw.').first()).toBeVisible();
  const expected = testInfo.outputPath('expected.raw');
  execFileSync('qemu-img', ['convert', '-O', 'raw', testInfo.outputPath('large.qcow2'), expected]);
  expect(statSync(saved).size).toBe(2200 * 2 ** 20);
  expect(hashFile(saved)).toBe(hashFile(expected));
});

test(
  'a download that does not fit is not proposed, nor after it has failed',
  { tag: '@full' },
  async ({ page }, testInfo) => {
    const disk = testInfo.outputPath('disk.img');
    writeFileSync(disk, randomBytes(8 << 20));
    // For a raw disk, a streamed download is proposed.
    await limitStorage(page);
    await choose(page, disk);
    await page.getByRole('button', { name: 'Read it as a raw disk' }).click();
    const way = page.getByRole('radio', { name: 'As a download' });
    await expect(way).toBeChecked();
    await page.getByLabel('Output format').selectOption('qcow2');
    await expect(page.getByText('Whether the result fits is known at the end.').first()).toBeVisible();
    await expect(way).not.toBeChecked();
    await expect(page.getByRole('radio', { name: 'To a folder you pick' })).toBeChecked();
    await expect(page.locator('.made')).toContainText('Whether the result fits is known at the end.');
    await lookAgain(page, testInfo, 'full');
    await way.click();
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.locator('.bad')).toContainText("the browser's storage is full");
    await page.getByRole('button', { name: 'Back to the image' }).click();
    await expect(page.getByRole('radio', { name: 'To a folder you pick' })).toBeChecked();
  },
);

test.describe('where nothing can stream', () => {
  test.use({ serviceWorkers: 'block' });
  test('a disk that the window cannot keep: why, and what to do', { tag: '@full' }, async ({ page }) => {
    await choose(page, images.huge());
    await expect(page.getByText('which is less than the disk, and it cannot be downloaded')).toBeVisible({
      timeout: 20_000,
    });
    await expect(page.getByText('Save it to a folder.')).toBeVisible();
    await expect(page.getByRole('radio', { name: 'As a download' })).toBeDisabled();
  });

  test(
    'an output of unknown size is tried: it may be far smaller than the disk',
    { tag: '@long' },
    async ({ page }, testInfo) => {
      const image = large(testInfo.outputPath('large.qcow2'));
      await choose(page, image);
      await expect(page.getByText('it cannot be downloaded').first()).toBeVisible({ timeout: 20_000 });
      await page.getByLabel('Output format').selectOption('raw.gz');
      await expect(page.getByText('Whether the result fits is known at the end.')).toBeVisible();
      await look(page, testInfo, 'unknown-size');
      const [saved, expected] = [testInfo.outputPath('large.raw.gz'), testInfo.outputPath('expected.raw')];
      await download(page, saved);
      execFileSync('qemu-img', ['convert', '-O', 'raw', image, expected]);
      execFileSync('sh', ['-c', `gunzip -c '${saved}' | cmp - '${expected}'`]);
      // The disk itself is refused as before.
      await page.getByRole('button', { name: 'Convert another image' }).click();
      await choose(page, image);
      await page.getByLabel('Output format').selectOption('raw');
      await expect(page.getByText('it cannot be downloaded').first()).toBeVisible({ timeout: 20_000 });
      await expect(page.getByRole('radio', { name: 'As a download' })).toBeDisabled();
    },
  );
});

// (image, proposed way, reason, tag)
for (const [image, way, reason, tag] of [
  [images.kinds, 'As a download', undefined, ['@full']],
  [images.empty, 'To a folder you pick', 'Files of more than 30 GB go to a folder', ['@full']],
] as const) {
  test(`the way depends on the size, not on what was measured: ${way}`, { tag: [...tag] }, async ({ page }) => {
    for (const measured of [
      { picked: 1e10, finish: 1e10 },
      { download: 1e10, storage: 1e10, streamed: 1e10 },
    ]) {
      await setRates(page, measured);
      await choose(page, image());
      await expect(page.getByText(/Takes the full.*About/)).toBeVisible();
      await expect(page.getByRole('radio', { name: way })).toBeChecked();
      await expect(page.locator('.made')).toContainText(reason ?? 'to your downloads');
      await page.getByRole('button', { name: 'Choose another file' }).click();
    }
  });
}

test.describe('in steps', () => {
  useGates();

  test('one measure: bar, number and title go together, and only grow', async ({ page }) => {
    await page.evaluate(() => {
      const seen: { bar: number; percent: number; title: string; height: number }[] = [];
      Object.assign(window, { seen });
      const root = document.querySelector('decant-converter')!.shadowRoot!;
      new MutationObserver(() => {
        const bar = root.querySelector<HTMLProgressElement>('progress[max]');
        const percent = root.querySelector('.numbers strong');
        if (!bar || !percent) return;
        const height = root.querySelector('.card')!.getBoundingClientRect().height;
        seen.push({
          bar: bar.value,
          // Nothing is said of the first moment.
          percent: Number.parseInt(percent.textContent || '0', 10),
          title: document.title,
          height,
        });
      }).observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    const { image } = sparse(64 << 20);
    await choose(page, image);
    await page.getByRole('radio', { name: 'As a download' }).click();
    await expect(page.getByText('so far')).toHaveCount(0);
    const gates = ([20, 40, 60, 80] as const).map((from) => fifthOf('sparse-64.qcow2', from));
    const opens: (() => Promise<void>)[] = [];
    for (const gate of gates) opens.push(await closeGate(page, gate));
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    const percentNow = async () => Number.parseInt(await page.locator('.numbers strong').innerText(), 10);
    for (const [at, gate] of gates.entries()) {
      await arriveAt(page, gate);
      await expect(page.locator('.made')).toHaveText('sparse-64.raw, to your downloads');
      await opens[at]!();
      // The page shows a part of the disk as converted while the other gates are closed.
      if (at === 0) await expect.poll(percentNow).toBeGreaterThan(0);
    }
    await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible({ timeout: 60_000 });
    await expect(page).toHaveTitle('Done converting; the browser is saving it: sparse-64.raw – Decant');
    const seen = await page.evaluate(
      () => (window as unknown as { seen: { bar: number; percent: number; title: string; height: number }[] }).seen,
    );
    expect(seen.length).toBeGreaterThan(3);
    for (const { bar, percent } of seen) expect(percent).toBe(Math.floor(bar * 100));
    const percents = seen.map(({ percent }) => percent);
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    expect(seen.some(({ title, percent }) => percent > 0 && title === `${percent}% sparse-64.qcow2 – Decant`)).toBe(
      true,
    );
    // The card does not jump during the conversion.
    expect(new Set(seen.map(({ height }) => Math.round(height))).size).toBe(1);
  });
});
