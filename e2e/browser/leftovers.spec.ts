// What conversions leave behind when they fail or are interrupted, and what the page says of it.

import { copyFileSync, openSync, rmSync, writeSync } from 'node:fs';
import type { BrowserContext } from '@playwright/test';
import { type Page, storage } from '../support/browser.js';
import { closeGate, fifthOf, serveGates, stopMidway } from '../support/gates.js';
import { hashFile, sparse } from '../support/images.js';
import { audit, choose, look, lookAgain } from '../support/page.js';
import { expect, test } from '../support/windows.js';

const { image, raw } = sparse(64 << 20);
const NAME = 'sparse-64.qcow2';
/** Folders use a little quota. */
const SLACK = 1 << 20;

test.use({ serviceWorkers: 'block' });
let serveOthers = () => {};
test.beforeEach(({ servers }) => {
  serveOthers = serveGates(servers.isolated);
});
test.afterEach(() => serveOthers());

const HAPPENS: Record<string, (path: string) => void> = {
  removed: (path) => rmSync(path),
  changed: (path) => writeSync(openSync(path, 'r+'), Buffer.alloc(4096, 1), 0, 4096, 1 << 20),
};

for (const [how, incognito, tag] of [
  ['removed', false, []],
  ['changed', true, ['@full']],
  ['changed', false, ['@full']],
  ['removed', true, ['@full']],
] as const) {
  const where = incognito ? 'a private window' : 'a profile';
  test(
    `the image is ${how} during a download, in ${where}: nothing stays, and the page says so`,
    { tag: [...tag] },
    async ({ openWindow }, testInfo) => {
      const path = testInfo.outputPath(NAME);
      const { page } = await openWindow(incognito);
      await page.goto('/');
      const before = (await storage(page)).usage;
      copyFileSync(image, path);
      await choose(page, path);
      const goOn = await stopMidway(page, NAME, async () => {
        await page.getByRole('radio', { name: /As a download/ }).click();
        await page.getByRole('button', { name: 'Convert', exact: true }).click();
      });
      expect((await storage(page)).names).toHaveLength(2);
      HAPPENS[how]!(path);
      await goOn();
      await expect(page.getByRole('heading', { name: `${NAME} could not be converted` })).toBeVisible();
      await expect(page.getByText('Nothing was left behind.').first()).toBeVisible();
      expect((await storage(page)).names).toEqual([]);
      await expect.poll(async () => (await storage(page)).usage - before).toBeLessThan(SLACK);
      await page.goto('/');
      await firstScreen(page);
      await expect(page.locator('.notice')).toHaveCount(0);
    },
  );
}

/** Waits until the first screen shows everything. */
const firstScreen = (page: Page) => expect(page.getByRole('textbox', { name: /^Link to/ })).toBeVisible();

/** Leaves a part of a disk of `size` bytes in the storage, as a closed tab does. */
const leave = (page: Page, name: string, size: number): Promise<void> =>
  page.evaluate(
    async ({ name, size }) => {
      const root = await navigator.storage.getDirectory();
      const files = await root.getDirectoryHandle('.decant-1', { create: true });
      const write = async (file: string, content: BufferSource | string) => {
        const writable = await (await files.getFileHandle(file, { create: true })).createWritable();
        await writable.write(content);
        await writable.close();
      };
      await write(name, new Uint8Array(size));
      await write(`${name}.journal`, `["download","${name}","${name}.qcow2",${2 * size}]\n${size} ${size}\n`);
    },
    { name, size },
  );

test('parts of interrupted downloads: the first screen says how large they are, and discards the chosen one', async ({
  page,
  context,
}, testInfo) => {
  await page.goto('/');
  await firstScreen(page);
  for (const [name, size] of [
    ['one', 3e6],
    ['two', 5e6],
    ['three', 7e6],
  ] as const)
    await leave(page, name, size);
  // Another tab resumes the third.
  const other = await context.newPage();
  await other.goto('/');
  const open = await closeGate(other, 'decant-1:three');
  await page.goto('/');
  await firstScreen(page);
  const notices = page.locator('.notice');
  await expect(notices).toHaveCount(2);
  const [one, two] = ['one', 'two'].map((name) => notices.filter({ hasText: `${name}.qcow2` }));
  await expect(one!).toContainText(
    "The conversion of one.qcow2 was interrupted at 50%. It takes 3 MB of this browser's storage. To resume, open the same file or link again.",
  );
  await look(page, testInfo, 'left');
  await two!.getByRole('button', { name: 'Discard: two.qcow2' }).press('Enter');
  await expect(page.getByText("5 MB of this browser's storage are free again.").first()).toBeVisible();
  await expect(notices).toHaveCount(1);
  await expect(page.getByRole('button', { name: 'Discard: one.qcow2' })).toBeFocused();
  const left = ['one', 'three'].flatMap((name) => [name, `${name}.journal`]);
  expect((await storage(page)).names.toSorted()).toEqual(left.map((name) => `.decant-1/${name}`).toSorted());
  await audit(page);
  // Another tab takes it in the meantime.
  const openOne = await closeGate(other, 'decant-1:one');
  await page.getByRole('button', { name: 'Discard: one.qcow2' }).click();
  await expect(
    page.getByText('Another tab is using this part of a disk, so it was not removed.').first(),
  ).toBeVisible();
  await expect(notices).toHaveCount(0);
  expect((await storage(page)).names).toHaveLength(4);
  for (const release of [open, openOne]) await release();
});

/** The number of resume points in the journal. */
const resumePoints = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('.decant-1');
    let lines = 0;
    for await (const [name, entry] of folder.entries()) {
      if (!name.endsWith('.journal')) continue;
      const text = await (await (entry as FileSystemFileHandle).getFile()).text();
      lines += text.split('\n').length - 2;
    }
    return lines;
  });

test('a tab that is closed during a download: Resume asks for the file, and finishes it', async ({
  context,
}, testInfo) => {
  const page = await context.newPage();
  await page.goto('/');
  await choose(page, image);
  await stopMidway(page, NAME, async () => {
    await page.getByRole('radio', { name: /As a download/ }).click();
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
  });
  await expect.poll(() => resumePoints(page)).toBeGreaterThan(0);
  await page.close();
  const next = await context.newPage();
  // The browser's own dialog cannot be driven.
  await next.addInitScript(() => Reflect.deleteProperty(window, 'showOpenFilePicker'));
  await next.goto('/');
  const card = next.locator('.left-card');
  await expect(card).toContainText(/^\s*The conversion of sparse-64\.qcow2 was interrupted at \d+%\./);
  await look(next, testInfo, 'card');
  const choosing = next.waitForEvent('filechooser');
  await card.getByRole('button', { name: `Resume: ${NAME}` }).click();
  const downloading = next.waitForEvent('download');
  await (await choosing).setFiles(image);
  expect(hashFile(await (await downloading).path())).toBe(hashFile(raw));
  await expect(next.getByRole('heading', { name: /^Done/ })).toBeVisible();
});

/** A page whose dialog for folders gives one in its private storage, as the browser's dialog cannot be driven. */
async function pageWithFolder(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript(() => {
    const picked = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('picked', { create: true });
    Object.assign(window, { showDirectoryPicker: picked });
  });
  await page.goto('/');
  await firstScreen(page);
  return page;
}

test('a tab that is closed during a conversion to a folder: the next visit removes the empty file', async ({
  context,
}, testInfo) => {
  const page = await pageWithFolder(context);
  await choose(page, image);
  await closeGate(page, fifthOf(NAME, 60));
  await page.getByRole('radio', { name: 'To a folder' }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByRole('heading', { name: `Converting ${NAME}` })).toBeVisible();
  const files = async (page: Page) => (await storage(page)).names.filter((name) => name.startsWith('picked/'));
  await expect.poll(() => files(page)).toContain('picked/sparse-64.raw');
  // While it is under way, another tab says nothing of it.
  const other = await pageWithFolder(context);
  await expect(other.locator('.notice')).toHaveCount(0);
  await other.close();
  await page.close();
  const next = await pageWithFolder(context);
  await expect(next.locator('.notice')).toContainText(
    `The conversion of ${NAME} was interrupted. sparse-64.raw in the folder picked may be left empty or incomplete.`,
  );
  await lookAgain(next, testInfo, 'left-in-folder');
  await next.getByRole('button', { name: /^Remove sparse-64.raw/ }).click();
  await expect(next.getByText('sparse-64.raw was removed.').first()).toBeVisible();
  await expect(next.locator('.notice')).toHaveCount(0);
  expect(await files(next)).not.toContain('picked/sparse-64.raw');
});
