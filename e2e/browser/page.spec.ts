// The page from a user's view.

import { writeFileSync } from 'node:fs';
import { expect, type Page, storage, test } from '../support/browser.js';
import { stopMidway, useGates } from '../support/gates.js';
import { hashFile, images, sparse } from '../support/images.js';
import { audit, choose, LOOKS, look, lookAgain, lookAs } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

test('a whole conversion by keyboard alone', async ({ page }) => {
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement?.shadowRoot?.activeElement;
      return (element?.closest('fieldset') ?? element?.closest('label') ?? element)?.textContent ?? '';
    });
  const press = async (name: string) => {
    for (let tabs = 0; tabs < 20; tabs += 1) {
      if ((await focused()).includes(name)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`'${name}' cannot be reached with Tab`);
  };
  const download = page.getByRole('radio', { name: 'As a download' });
  await press('Try a sample');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'sample.qcow2' })).toBeFocused();
  // Tab stops in a radio group once, at the checked button; the arrow keys choose another one.
  const saving = page.getByRole('group', { name: 'Where to save it' });
  const proposed = saving.getByRole('radio', { checked: true });
  await expect(proposed).toHaveCount(1);
  // Until it is known what this browser can do, the arrow keys pass over the ways that are not allowed yet.
  await expect(download).toBeEnabled();
  await press('As a download');
  await expect(proposed).toBeFocused();
  const ways = await saving.getByRole('radio').count();
  for (let arrows = 0; arrows < ways && !(await download.isChecked()); arrows += 1)
    await page.keyboard.press('ArrowDown');
  await expect(download).toBeChecked();
  await expect(download).toBeFocused();
  await press('Convert');
  const saved = page.waitForEvent('download');
  await page.keyboard.press('Enter');
  await saved;
  await expect(page.getByRole('heading', { name: 'Done' })).toBeFocused();
  await expect(page.getByRole('status')).toContainText(
    'Done converting; the browser is saving it. The browser is copying sample.raw',
  );
});

test('the sample becomes a download of the right bytes; no other host is asked, and no policy violated', async ({
  page,
  baseURL,
}, testInfo) => {
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.reload();
  await page.getByRole('button', { name: 'Try a sample' }).click();
  await expect(page.getByRole('heading', { name: 'sample.qcow2' })).toBeVisible();
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  expect((await download).suggestedFilename()).toBe('sample.raw');
  const path = testInfo.outputPath('sample.raw');
  await (await download).saveAs(path);
  expect(hashFile(path)).toBe(hashFile(images.sample()));
  expect(requests.filter((url) => !url.startsWith(`${baseURL}/`) && !url.startsWith(`blob:${baseURL}/`))).toEqual([]);
  expect(complaints).toEqual([]);
});

for (const [name, tag] of [
  ['disk', ['@full']],
  ['CON', ['@full']],
  ['disk.of mine', ['@full']],
] as const) {
  test(
    `a download arrives under the name ${name}, which no guess of its content extends`,
    { tag: [...tag] },
    async ({ page }) => {
      await page.getByRole('button', { name: 'Try a sample' }).click();
      await page.getByRole('radio', { name: 'As a download' }).click();
      await page.getByLabel('File name').fill(name);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      expect((await download).suggestedFilename()).toBe(name);
    },
  );
}

test('a name that the browser changes is announced beforehand', { tag: '@full' }, async ({ page }) => {
  await page.getByRole('button', { name: 'Try a sample' }).click();
  await page.getByRole('radio', { name: 'As a download' }).click();
  const name = page.getByLabel('File name');
  await name.fill('.my~disk.vhd');
  await expect(name).toHaveAccessibleDescription(/end in \.raw.* The browser will call it my_disk\.vhd\./);
  await expect(page.locator('.unseen').filter({ hasText: 'my_disk.vhd' })).toBeAttached();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  expect((await download).suggestedFilename()).toBe('my_disk.vhd');
});

test('Enter in the name converts', { tag: '@full' }, async ({ page }) => {
  await page.getByRole('button', { name: 'Try a sample' }).click();
  await page.getByRole('radio', { name: 'As a download' }).click();
  const download = page.waitForEvent('download');
  await page.getByLabel('File name').press('Enter');
  expect((await download).suggestedFilename()).toBe('sample.raw');
});

test('a file that is not an image, and one that may be raw', async ({ page }, testInfo) => {
  const [pdf, raw] = [testInfo.outputPath('paper.pdf'), testInfo.outputPath('disk.img')];
  writeFileSync(pdf, '%PDF-1.7 and so on');
  writeFileSync(raw, Buffer.alloc(100_000, 7));
  await choose(page, pdf);
  await expect(page.locator('.bad')).toHaveText(/^The file is a PDF, not a disk image; open one instead, such as /);
  await expect(page.getByRole('button', { name: 'Read it as a raw disk' })).toHaveCount(0);
  await audit(page);
  await page.getByRole('button', { name: 'Choose another file' }).click();
  await choose(page, raw);
  await page.getByRole('button', { name: 'Read it as a raw disk' }).click();
  await expect(page.getByRole('heading', { name: 'disk.img' })).toBeVisible();
});

test('a pasted file is opened, but not one that is pasted into a text', { tag: '@full' }, async ({ page }) => {
  const paste = (into: string) =>
    page.evaluate((into) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([new Uint8Array(5000)], 'pasted.img'));
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      document.querySelector(into)!.dispatchEvent(event);
    }, into);
  await page.evaluate(() => document.body.append(document.createElement('textarea')));
  await paste('textarea');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
  await paste('body');
  await expect(page.getByRole('button', { name: 'Read it as a raw disk' })).toBeVisible();
});

test.describe('while it converts', () => {
  useGates();

  /** Begins a conversion that pauses half-way; the returned function resumes it. */
  async function beginConverting(page: Page): Promise<() => Promise<void>> {
    await choose(page, sparse(64 << 20).image);
    await page.getByRole('radio', { name: 'As a download' }).click();
    await expect(page.getByText('so far')).toHaveCount(0);
    return stopMidway(page, 'sparse-64.qcow2', () =>
      page.getByRole('button', { name: 'Convert', exact: true }).click(),
    );
  }

  test('the tab asks before it closes', async ({ page }) => {
    const goOn = await beginConverting(page);
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    // The tab stays and continues.
    await goOn();
    await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  });

  test('another tab says so', { tag: '@full' }, async ({ page, context }) => {
    await beginConverting(page);
    const other = await context.newPage();
    await other.goto('/');
    await choose(other, images.kinds());
    await expect(other.getByText('Another tab is converting too').first()).toBeVisible();
  });

  test('a refusal to notify is said, and the focus stays near the button', { tag: '@full' }, async ({ page }) => {
    await page.evaluate(() => {
      const refusing = {
        permission: 'default',
        requestPermission: async () => {
          refusing.permission = 'denied';
          return 'denied';
        },
      };
      Object.assign(window, { Notification: refusing });
    });
    await beginConverting(page);
    await page.getByRole('button', { name: 'Notify me when it is done' }).press('Enter');
    await expect(page.locator('[aria-live]', { hasText: 'The browser does not allow' })).toHaveCount(1);
    await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
  });

  test('a cancel leaves nothing behind', async ({ page }) => {
    await beginConverting(page);
    expect((await storage(page)).names).not.toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible();
    expect((await storage(page)).names).toEqual([]);
  });

  test('axe finds nothing in any step', async ({ page }, testInfo) => {
    await lookAgain(page, testInfo, 'empty');
    const goOn = await beginConverting(page);
    await look(page, testInfo, 'converting');
    await goOn();
    await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
    await lookAgain(page, testInfo, 'done');
  });

  for (const { colorScheme, width } of LOOKS) {
    test(
      `axe finds nothing and nothing overflows: ${colorScheme}, ${width} px`,
      { tag: '@full' },
      async ({ page }, testInfo) => {
        const check = (name: string) => lookAs(page, testInfo, name, { colorScheme, width });
        await check('empty');
        await choose(page, images.zlib());
        await expect(page.getByText('of it compressed')).toBeVisible();
        await check('ready');
        await page.getByRole('button', { name: 'Choose another file' }).click();
        const goOn = await beginConverting(page);
        await check('converting');
        await goOn();
        await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
        await check('done');
      },
    );
  }
});

test('dropping another file while one is opened shows the other one', { tag: '@full' }, async ({ page }) => {
  await page.evaluate(() => {
    const converter = document.querySelector('decant-converter')!;
    const zone = converter.shadowRoot!.querySelector('.card')!;
    for (const name of ['first.bin', 'second.bin', 'third.img']) {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(5000)], name));
      zone.dispatchEvent(new DragEvent('dragover', { dataTransfer: transfer, bubbles: true, composed: true }));
      zone.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, composed: true }));
    }
  });
  await expect(page.getByRole('button', { name: 'Read it as a raw disk' })).toBeVisible();
  await page.getByRole('button', { name: 'Read it as a raw disk' }).click();
  await expect(page.getByRole('heading', { name: 'third.img' })).toBeVisible();
});

test.describe('where nothing is kept for offline use', () => {
  test.use({ serviceWorkers: 'block' });
  test('a sample that cannot be fetched is reported, and can be retried', { tag: '@full' }, async ({ page }) => {
    await page.route('**/sample-*.qcow2', (route) => route.abort());
    await page.getByRole('button', { name: 'Try a sample' }).click();
    await expect(page.locator('.notice')).toContainText('Could not read sample.qcow2');
    await page.unroute('**/sample-*.qcow2');
    await page.getByRole('button', { name: 'Try a sample' }).click();
    await expect(page.getByRole('heading', { name: 'sample.qcow2' })).toBeVisible();
  });
});

test('a folder is picked as soon as it is chosen; a closed dialog changes nothing', async ({ page }, testInfo) => {
  await page.evaluate(() => {
    // The browser's dialog cannot be driven.
    const answers = [
      () => Promise.reject(new DOMException('closed', 'AbortError')),
      async () => (await navigator.storage.getDirectory()).getDirectoryHandle('my disks', { create: true }),
    ];
    Object.assign(window, { showDirectoryPicker: () => answers.shift()!() });
  });
  await choose(page, images.kinds());
  const [folder, download] = ['To a folder you pick', 'As a download'].map((name) => page.getByRole('radio', { name }));
  await expect(download!).toBeChecked();
  await folder!.click();
  await expect(page.getByRole('heading', { name: 'No folder was picked' })).toBeFocused();
  await expect(download!).toBeChecked();
  await expect(page.locator('.made')).toContainText('to your downloads');
  await folder!.click();
  await expect(folder!).toBeChecked();
  await expect(page.getByText('Folder: my disks')).toBeVisible();
  await expect(page.locator('.made')).toContainText('to the folder my disks');
  await expect(page.getByRole('heading', { name: 'No folder was picked' })).toHaveCount(0);
  await lookAgain(page, testInfo, 'picked');
});

test('where no place can be picked the download stays chosen', { tag: '@full' }, async ({ page }) => {
  await page.evaluate(() => {
    Object.assign(window, { showDirectoryPicker: () => Promise.reject(new DOMException('no', 'SecurityError')) });
  });
  await choose(page, images.kinds());
  await page.getByRole('radio', { name: 'To a folder you pick' }).click();
  await expect(page.getByText('does not let this page ask for a place').first()).toBeVisible();
  await expect(page.getByRole('radio', { name: 'To a folder you pick' })).toBeDisabled();
  await expect(page.getByRole('radio', { name: 'As a download' })).toBeChecked();
});

test.describe('without isolation', () => {
  test.use({ isolated: false });

  test('the page works and says so', { tag: '@full' }, async ({ page }) => {
    await page.getByRole('button', { name: 'Try a sample' }).click();
    await page.getByRole('radio', { name: 'As a download' }).click();
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await page.getByText('Details').click();
    await expect(page.getByText('does not allow shared memory')).toBeVisible();
  });
});

test('a truncated image is refused as soon as it is described', { tag: '@full' }, async ({ page }) => {
  await choose(page, images.truncated());
  await expect(page.getByRole('heading', { name: 'truncated.qcow2 could not be opened' })).toBeVisible();
  await expect(page.locator('.bad')).toContainText('is cut off');
});
