// Saving to a picked folder: real dialogs of headed Chromium, and the files on the disk. No outcome loses an existing file.

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '../support/browser.js';
import { COMPLETION, closeGate, fifthOf, serveGates, stopMidway } from '../support/gates.js';
import { answerFolder, type Headed, withHeaded } from '../support/headed.js';
import { diskUsage, hashFile, images, qemuImg, sparse } from '../support/images.js';
import { announced, choose, noteAnnounced } from '../support/page.js';
import { allowAgain, FOLDER, findDialog, leave, save, startDisplay } from '../support/save-dialog.mjs';

let display: { name: string; stop(): void };

test.beforeAll(async () => {
  display = await startDisplay();
});

test.afterAll(() => {
  display.stop();
});

const open = test.extend<{
  /** An empty folder to save to. */
  folder: string;
  headed: (work: (page: Page) => Promise<void>, options?: Partial<Headed>) => Promise<void>;
}>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  folder: async ({}, use) => {
    // Its path is typed into dialogs, key by key: a short one.
    const parent = mkdtempSync(join(tmpdir(), 'decant-'));
    const folder = join(parent, 'picked');
    mkdirSync(folder);
    await use(folder);
    rmSync(parent, { recursive: true });
  },
  headed: async ({ servers, launchOptions }, use) => {
    await use(async (work, options = {}) => {
      const serveOthers = options.gates ? serveGates(servers.isolated) : () => {};
      try {
        await withHeaded({ url: servers.isolated.url, display: display.name, launch: launchOptions, ...options }, work);
      } finally {
        serveOthers();
      }
    });
  },
});

/** The image for tests of a cancel, and the gate at which its conversion waits. */
const held = () => sparse(64 << 20);
const midway = fifthOf('sparse-64.qcow2', 60);

const convert = (page: Page) => page.getByRole('button', { name: 'Convert', exact: true }).click();

/** Opens `image` and chooses to save it to a folder, which opens the dialog. */
async function begin(page: Page, image: string, name?: string): Promise<void> {
  await choose(page, image);
  if (name !== undefined) await page.getByLabel('File name').fill(name);
  await page.getByRole('radio', { name: 'To a folder you pick' }).click();
}

/** Picks the folder at `path` in the dialog, and converts. */
async function saveIn(page: Page, path: string): Promise<void> {
  await answerFolder(page, display.name, path);
  await convert(page);
}

const done = (page: Page) => expect(page.getByRole('heading', { name: 'Done' })).toBeVisible({ timeout: 60_000 });

for (const [window, image, profile] of [
  ['a private window', 'zlib', false],
  ['a window with a profile', 'plain', true],
] as const) {
  open(`a disk is saved to a folder, sparse, from ${window}`, { tag: '@full' }, async ({ headed, folder }) => {
    await headed(
      async (page) => {
        await begin(page, images[image]());
        await saveIn(page, folder);
        await done(page);
        await expect(page.getByText(`${image}.raw is in the folder picked.`).first()).toBeVisible();
      },
      { profile },
    );
    expect(readdirSync(folder)).toEqual([`${image}.raw`]);
    expect(hashFile(join(folder, `${image}.raw`))).toBe(hashFile(images.raw()));
    expect(diskUsage(join(folder, `${image}.raw`))).toBeLessThan(diskUsage(images.raw()) * 1.1);
  });
}

open(
  'a tab that is closed in the middle: the next visit asks for the permission, and removes the empty file',
  { tag: '@full' },
  async ({ headed, folder, servers }) => {
    writeFileSync(join(folder, 'other.raw'), '');
    await headed(
      async (page) => {
        await closeGate(page, midway);
        await begin(page, held().image);
        await saveIn(page, folder);
        await expect(page.getByRole('heading', { name: 'Converting sparse-64.qcow2' })).toBeVisible();
        await expect.poll(() => readdirSync(folder)).toContain('sparse-64.raw');
        const next = await page.context().newPage();
        await page.close();
        await expect.poll(() => readdirSync(folder).toSorted()).toEqual(['other.raw', 'sparse-64.raw']);
        await next.goto(servers.isolated.url);
        await expect(next.getByText('sparse-64.raw in the folder picked may be left empty').first()).toBeVisible();
        const said = next.getByText('sparse-64.raw was removed.').first();
        await next.getByRole('button', { name: 'Remove sparse-64.raw: sparse-64.qcow2' }).click();
        await allowAgain(display.name, () => said.isVisible());
        await expect(said).toBeVisible();
      },
      { profile: true, gates: true },
    );
    expect(readdirSync(folder)).toEqual(['other.raw']);
  },
);

open(
  'a file of the name is replaced only when the person says so, and by a complete one',
  { tag: '@full' },
  async ({ headed, folder }) => {
    const there = join(folder, 'states.raw');
    writeFileSync(there, 'what was there');
    await headed(async (page) => {
      await begin(page, images.states());
      await saveIn(page, folder);
      await expect(page.getByRole('heading', { name: 'picked already has a file called states.raw' })).toBeFocused();
      expect(readFileSync(there, 'utf8')).toBe('what was there');
      // The other answer first: both are kept.
      await page.getByRole('button', { name: 'Save as states-1.raw' }).click();
      await done(page);
      expect(readFileSync(there, 'utf8')).toBe('what was there');
      await page.getByRole('button', { name: 'Convert another image' }).click();
      await choose(page, images.states());
      await expect(page.getByText('Folder: picked')).toBeVisible();
      await convert(page);
      await page.getByRole('button', { name: 'Replace it' }).click();
      await done(page);
    });
    expect(readdirSync(folder).toSorted()).toEqual(['states-1.raw', 'states.raw']);
    for (const name of readdirSync(folder)) expect(hashFile(join(folder, name))).toBe(hashFile(images.filled(2)));
  },
);

open(
  'the image itself, and a file that it needs, are never written to nor suggested',
  { tag: '@full' },
  async ({ headed, folder }) => {
    const [mine, base, top] = [join(folder, 'mine.raw'), join(folder, 'base.raw'), join(folder, 'base.qcow2')];
    copyFileSync(images.filled(1), mine);
    copyFileSync(images.filled(2), base);
    qemuImg('create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', base, top);
    const before = readdirSync(folder).map((name) => hashFile(join(folder, name)));
    await headed(async (page) => {
      await choose(page, mine);
      await page.getByRole('button', { name: 'Read it as a raw disk' }).click();
      await expect(page.getByLabel('File name')).toHaveValue('mine-converted.raw');
      await page.getByRole('radio', { name: 'To a folder you pick' }).click();
      await answerFolder(page, display.name, folder);
      await page.getByLabel('File name').fill('mine.raw');
      await convert(page);
      await expect(page.getByRole('heading', { name: 'mine.raw in that folder is the image itself' })).toBeFocused();
      await expect(page.getByRole('button', { name: 'Replace it' })).toHaveCount(0);
      await page.getByRole('button', { name: 'Choose another file' }).click();
      await choose(page, top, base);
      await expect(page.getByLabel('File name')).toHaveValue('base-converted.raw');
      await page.getByLabel('File name').fill('base.raw');
      await convert(page);
      await expect(page.getByRole('heading', { name: 'base.raw in that folder is the image itself' })).toBeFocused();
      await page.getByRole('button', { name: 'Save as base-1.raw' }).click();
      await done(page);
    });
    expect(hashFile(join(folder, 'base-1.raw'))).toBe(hashFile(images.filled(2)));
    expect(
      readdirSync(folder)
        .filter((name) => name !== 'base-1.raw')
        .map((name) => hashFile(join(folder, name))),
    ).toEqual(before);
  },
);

open('a cancel while the browser finishes a new file removes it', { tag: '@full' }, async ({ headed, folder }) => {
  await headed(
    async (page) => {
      const complete = await closeGate(page, COMPLETION);
      await begin(page, held().image);
      await saveIn(page, folder);
      await expect(page.getByRole('heading', { name: 'Finishing sparse-64.qcow2' })).toBeVisible({ timeout: 30_000 });
      await page.getByRole('button', { name: 'Cancel' }).click();
      await expect(page.locator('.hint')).toContainText('the file is removed afterwards');
      await expect(page.getByRole('status')).toContainText('the file is removed afterwards');
      const cancel = page.getByRole('button', { name: 'Cancel' });
      await expect(cancel).toHaveAttribute('aria-disabled', 'true');
      await expect(cancel).toBeFocused();
      await complete();
      await expect(page.getByRole('heading', { name: 'Cancelled. Nothing was left behind.' })).toBeVisible();
    },
    { gates: true },
  );
  expect(readdirSync(folder)).toEqual([]);
});

open('a cancel leaves a file that was there, until it is too late, and that is said', async ({ headed, folder }) => {
  const target = join(folder, 'disk.raw');
  const { image, raw } = held();
  writeFileSync(target, 'what was there');
  await headed(
    async (page) => {
      const goOn = await stopMidway(page, 'sparse-64.qcow2', async () => {
        await begin(page, image, 'disk.raw');
        await saveIn(page, folder);
        await page.getByRole('button', { name: 'Replace it' }).click();
      });
      await page.getByRole('button', { name: 'Cancel' }).click();
      await expect(page.getByRole('heading', { name: 'Cancelled. disk.raw is unchanged.' })).toBeVisible();
      expect(readFileSync(target, 'utf8')).toBe('what was there');
      await goOn();
      const complete = await closeGate(page, COMPLETION);
      await page.getByRole('button', { name: 'Choose another file' }).click();
      await begin(page, image, 'disk.raw');
      await convert(page);
      await page.getByRole('button', { name: 'Replace it' }).click();
      await expect(page.getByRole('heading', { name: 'Finishing sparse-64.qcow2' })).toBeVisible({ timeout: 30_000 });
      // The browser does not say how far it is.
      await expect(page.locator('.numbers')).toHaveText('');
      await expect(page.locator('progress')).not.toHaveAttribute('value');
      for (const [reducedMotion, moving] of [
        ['no-preference', 1],
        ['reduce', 0],
      ] as const) {
        await page.emulateMedia({ reducedMotion });
        expect(await page.locator('progress').evaluate((bar) => bar.getAnimations().length)).toBe(moving);
      }
      await page.getByRole('button', { name: 'Cancel' }).click();
      await expect(page.getByText('the file will be complete').first()).toBeVisible();
      await complete();
      await done(page);
      await expect(page.getByText('Too late to cancel: the file is complete').first()).toBeVisible();
    },
    { gates: true },
  );
  expect(hashFile(target)).toBe(hashFile(raw));
});

open(
  'while the browser checks a file, the same tab converts another image',
  { tag: '@full' },
  async ({ headed, folder }) => {
    const { image, raw } = held();
    await headed(
      async (page) => {
        const complete = await closeGate(page, COMPLETION);
        await begin(page, image);
        await saveIn(page, folder);
        await page.getByRole('button', { name: 'Convert another image' }).click({ timeout: 30_000 });
        await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
        const cards = page.getByRole('region', { name: 'In the background' }).getByRole('listitem');
        await expect(cards).toHaveText(/^\s*sparse-64\.raw\s+the browser is checking the file: [\s\S]+Cancel\s*$/);
        await noteAnnounced(page);
        await choose(page, images.states());
        await expect(page.getByText('Another tab is converting')).toHaveCount(0);
        await page.getByLabel('File name').fill('sparse-64.raw');
        await convert(page);
        await expect(page.getByText('The browser is still checking a file with this name').first()).toBeVisible();
        await page.getByLabel('File name').fill('states.raw');
        await page.getByRole('radio', { name: 'As a download' }).click();
        const download = page.waitForEvent('download');
        await convert(page);
        await download;
        await done(page);
        const asked = page.waitForEvent('dialog');
        await page.close({ runBeforeUnload: true });
        await (await asked).dismiss();
        expect(statSync(join(folder, 'sparse-64.raw')).size).toBe(0);
        await complete();
        await expect(cards).toContainText(['saved as sparse-64.raw in picked']);
        expect((await announced(page)).at(-1)).toContain('sparse-64.raw: saved as sparse-64.raw in picked');
        await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
        await page.getByRole('button', { name: 'Dismiss sparse-64.raw' }).click();
        await expect(cards).toHaveCount(0);
      },
      { gates: true },
    );
    expect(hashFile(join(folder, 'sparse-64.raw'))).toBe(hashFile(raw));
  },
);

open('leftovers in a renamed folder are named', { tag: '@full' }, async ({ headed, folder }) => {
  const elsewhere = `${folder}-renamed`;
  await headed(
    async (page) => {
      const goOn = await stopMidway(page, 'sparse-64.qcow2', async () => {
        await begin(page, held().image, 'disk.raw');
        await saveIn(page, folder);
      });
      renameSync(folder, elsewhere);
      await goOn();
      await expect(page.getByRole('heading', { name: 'sparse-64.qcow2 could not be converted' })).toBeVisible();
      await expect(page.getByText('Delete disk.raw and disk.raw.crswap in it').first()).toBeVisible();
    },
    { gates: true },
  );
  expect(readdirSync(elsewhere).toSorted()).toEqual(['disk.raw', 'disk.raw.crswap']);
  rmSync(elsewhere, { recursive: true });
  mkdirSync(folder);
});

open(
  'a folder that the browser refuses: the page says which are, and offers the other dialog',
  { tag: '@full' },
  async ({ headed, folder }) => {
    const home = join(folder, 'home');
    mkdirSync(join(home, 'Downloads'), { recursive: true });
    await headed(
      async (page) => {
        await begin(page, images.states());
        await answerFolder(page, display.name, join(home, 'Downloads'));
        await expect(page.getByRole('heading', { name: 'No folder was picked' })).toBeFocused();
        await expect(page.getByText('such as the home folder, Desktop and Downloads')).toBeVisible();
        await expect(page.getByText('the browser empties it at once')).toBeVisible();
        await page.getByRole('button', { name: "Use the browser's save dialog" }).click();
        await save(display.name, join(home, 'Downloads', 'disk.raw'));
        await done(page);
        await expect(page.getByText('disk.raw was saved in the place you picked.').first()).toBeVisible();
      },
      { home },
    );
    expect(hashFile(join(home, 'Downloads', 'disk.raw'))).toBe(hashFile(images.filled(2)));
  },
);

open(
  'the save dialog empties a file: it stays after a cancel, and the page says so',
  { tag: '@full' },
  async ({ headed, folder }) => {
    const target = join(folder, 'old.raw');
    writeFileSync(target, 'what was there');
    await headed(
      async (page) => {
        await closeGate(page, midway);
        await begin(page, held().image);
        await leave(display.name, FOLDER);
        await page.getByRole('button', { name: "Use the browser's save dialog" }).click();
        // The question is gone, and its button that had the focus.
        await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeFocused();
        await save(display.name, target);
        await page.getByRole('button', { name: 'Cancel' }).click();
        const words = 'Cancelled. An empty file was left: old.raw.';
        await expect(page.getByRole('heading', { name: words })).toBeVisible({ timeout: 60_000 });
      },
      { gates: true },
    );
    expect(readdirSync(folder)).toEqual(['old.raw']);
    expect(statSync(target).size).toBe(0);
  },
);

open('the save dialog with the image itself: exactly that is said', { tag: '@full' }, async ({ headed, folder }) => {
  const mine = join(folder, 'mine.qcow2');
  copyFileSync(images.states(), mine);
  await headed(async (page) => {
    await begin(page, mine);
    await leave(display.name, FOLDER);
    await page.getByRole('button', { name: "Use the browser's save dialog" }).click();
    await save(display.name, mine);
    await expect(page.locator('.bad')).toContainText("the browser's dialog emptied it");
  });
  expect(readdirSync(folder)).toEqual(['mine.qcow2']);
});

open(
  'while a dialog is open the page waits, and what is dropped queues',
  { tag: '@full' },
  async ({ headed, folder }) => {
    await headed(async (page) => {
      await begin(page, images.states());
      await findDialog(display.name, FOLDER);
      await expect(page.getByText("Pick a place in the browser's dialog").first()).toBeVisible();
      // Not by a pointer, which the dialog blocks on a real desktop.
      await page.getByRole('button', { name: 'Choose another file' }).dispatchEvent('click');
      await page.evaluate(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([new Uint8Array(4096)], 'dropped.img'));
        document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
      });
      await expect(page.getByText('Added to the queue: dropped.img.').first()).toBeVisible();
      await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeVisible();
      await saveIn(page, folder);
      await done(page);
      await page.getByRole('button', { name: 'Convert another image' }).click();
      await choose(page, images.states());
      await page.getByRole('button', { name: 'Choose another file' }).click();
      await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
    });
    expect(readdirSync(folder)).toEqual(['states.raw']);
  },
);

open('while the folder is looked at, the image and the name stay', { tag: '@full' }, async ({ headed, folder }) => {
  writeFileSync(join(folder, 'states.raw'), 'what was there');
  mkdirSync(join(folder, 'states-1.raw'));
  await headed(async (page) => {
    await page.evaluate(() => {
      const { prototype } = FileSystemDirectoryHandle;
      const { getFileHandle } = prototype;
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      Object.assign(window, { release, looked: false });
      prototype.getFileHandle = async function (name, options) {
        Object.assign(window, { looked: true });
        await held;
        return getFileHandle.call(this, name, options);
      };
    });
    await begin(page, images.states());
    await saveIn(page, folder);
    await page.waitForFunction(() => (window as unknown as { looked: boolean }).looked);
    await page.getByRole('button', { name: 'Choose another file' }).dispatchEvent('click');
    await expect(page.getByLabel('File name')).not.toBeEditable();
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([new Uint8Array(4096)], 'dropped.img'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    });
    await expect(page.getByText('Added to the queue: dropped.img.').first()).toBeVisible();
    await page.evaluate(() => (window as unknown as { release(): void }).release());
    await expect(page.getByRole('heading', { name: 'picked already has a file called states.raw' })).toBeVisible();
    await expect(page.getByRole('heading', { name: 'states.qcow2' })).toBeVisible();
    await page.getByRole('button', { name: 'Save as states-2.raw' }).click();
    await done(page);
  });
  expect(readFileSync(join(folder, 'states.raw'), 'utf8')).toBe('what was there');
  expect(hashFile(join(folder, 'states-2.raw'))).toBe(hashFile(images.filled(2)));
});

open(
  'a file in the folder that cannot be: its words, and another name',
  { tag: '@full' },
  async ({ headed, folder }) => {
    mkdirSync(join(folder, 'states.raw'));
    await headed(async (page) => {
      await begin(page, images.states());
      await saveIn(page, folder);
      await expect(page.getByText('contains a folder of this name')).toBeVisible();
      await expect(page.getByLabel('File name')).toBeFocused();
      await page.getByLabel('File name').fill('a/b.raw');
      await convert(page);
      await expect(page.getByText('A file name cannot contain /').first()).toBeVisible();
      await expect(page.getByLabel('File name')).toBeFocused();
      await page.getByLabel('File name').fill('other.raw');
      await convert(page);
      await done(page);
    });
    expect(hashFile(join(folder, 'other.raw'))).toBe(hashFile(images.filled(2)));
  },
);
