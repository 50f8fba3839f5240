// Nothing moves over a whole conversion, as Chromium measures it. Movements right after a click or a key do not count.

import { mkdirSync } from 'node:fs';
import { expect, type Page, test } from '../support/browser.js';
import { stopMidway, useGates } from '../support/gates.js';
import { images, sparse } from '../support/images.js';
import { ovaOfSeveral } from '../support/ova.js';
import { choose } from '../support/page.js';

/** Of all that moved, the shares of the window times the distances. */
const MOST = 0.01;
/** So long after a click, in milliseconds, movements do not count. */
const AFTER_CLICK = 500;

const SIZES = { 'a wide window': { width: 1280, height: 800 }, 'a narrow window': { width: 360, height: 740 } };

interface Moved {
  value: number;
  /** What moved, and from where to where. */
  parts: string[];
}

/** Notes what moves from now on. Returns a function that returns it. */
async function watchShifts(page: Page): Promise<() => Promise<Moved[]>> {
  await page.evaluate(() => {
    interface Shift extends PerformanceEntry {
      value: number;
      hadRecentInput: boolean;
      sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[];
    }
    const moved: Moved[] = [];
    const nameOf = (node: Node | null) => {
      const element = node instanceof Element ? node : node?.parentElement;
      return `${element?.tagName}.${element?.className} ${element?.textContent.trim().slice(0, 30)}`;
    };
    const note = (entries: PerformanceEntryList) => {
      for (const { value, hadRecentInput, sources } of entries as Shift[]) {
        const parts = sources.map(
          ({ node, previousRect: from, currentRect: to }) =>
            `${nameOf(node)}: ${from.x},${from.y} ${from.height} high to ${to.x},${to.y} ${to.height} high`,
        );
        if (!hadRecentInput) moved.push({ value, parts });
      }
    };
    if (!PerformanceObserver.supportedEntryTypes.includes('layout-shift')) throw new Error('nothing is measured');
    const observer = new PerformanceObserver((list) => note(list.getEntries()));
    observer.observe({ type: 'layout-shift' });
    const take = () => {
      note(observer.takeRecords());
      return moved;
    };
    Object.assign(window, { shifts: { take } });
  });
  return () =>
    page.evaluate(async () => {
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
      return (window as unknown as { shifts: { take(): Moved[] } }).shifts.take();
    });
}

/** Clicks the button `name`, and waits until movements count again. */
async function click(page: Page, name: RegExp | string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  const clicked = await page.evaluate(() => performance.now());
  await page.waitForFunction(([clicked, most]) => performance.now() > clicked! + most!, [clicked, AFTER_CLICK]);
}

interface Case {
  places: string[];
  /** `folder` is one in which the test can make files. */
  files: (folder: string) => string[];
  /** The file whose reading is stopped midway. */
  held: string;
  button: string;
  /** What is shown at the end. */
  end: string;
  /** Whether it has disks to choose from, and is saved in a folder, too. */
  isMachine?: true;
}

const CASES: Record<string, Case> = {
  'an image': {
    places: ['Raw', 'Azure'],
    files: () => [sparse(64 << 20).image],
    held: 'sparse-64.qcow2',
    button: 'Convert',
    end: '#place',
  },
  'a queue': {
    places: ['Raw', 'KVM'],
    files: () => [sparse(64 << 20).image, images.states()],
    held: 'sparse-64.qcow2',
    button: 'Convert all 2',
    end: '[data-heading="2 of 2 converted"]',
  },
  'a machine': {
    places: ['Raw', 'Proxmox'],
    // The machine lists its disks in reverse order: the large one is the first.
    files: (folder) => [ovaOfSeveral(folder, 'vm.ova', [images.states(), sparse(64 << 20).image])],
    held: 'vm.ova',
    button: 'Convert all 2 disks',
    end: '[data-heading="2 of 2 converted"]',
    isMachine: true,
  },
};

/** Saves in a folder of the page's storage. */
async function useFolder(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.assign(window, { showDirectoryPicker: () => navigator.storage.getDirectory() });
  });
  await click(page, 'Change');
  await page.getByRole('radio', { name: 'To a folder' }).click();
  await click(page, 'Change');
}

test.use({ opensFolds: false });

test.beforeEach(async ({ page }) => {
  await page.goto('/');
});

test.describe('in steps', () => {
  useGates();

  for (const [window, viewport] of Object.entries(SIZES))
    for (const [name, { files, places, held, button, end, isMachine }] of Object.entries(CASES))
      for (const place of places)
        for (const way of isMachine ? ['downloads', 'a folder'] : ['downloads'])
          test(
            `nothing moves over the conversion of ${name} for ${place} to ${way} in ${window}`,
            { tag: place === 'Raw' && name === 'an image' && window === 'a narrow window' ? [] : '@full' },
            async ({ page }, testInfo) => {
              mkdirSync(testInfo.outputDir, { recursive: true });
              await page.setViewportSize(viewport);
              const shifts = await watchShifts(page);
              await choose(page, ...files(testInfo.outputDir));
              if (isMachine) await click(page, 'Continue');
              await expect(page.locator('[data-convert]')).not.toHaveAttribute('aria-disabled');
              await page.getByRole('radio', { name: place }).check();
              if (way === 'a folder') await useFolder(page);
              const goOn = await stopMidway(page, held, () => click(page, button));
              await goOn();
              await expect(page.locator(end)).toBeVisible();
              const moved = await shifts();
              const sum = moved.reduce((all, { value }) => all + value, 0);
              expect(sum, JSON.stringify(moved, undefined, 1)).toBeLessThan(MOST);
            },
          );
});
