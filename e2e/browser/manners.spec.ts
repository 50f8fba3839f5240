// Accessibility: focus, forced colours, contrast, texts for a screen reader.

import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { expect, type Page, test } from '../support/browser.js';
import { stopMidway, useGates } from '../support/gates.js';
import { images, PASSWORD, sparse } from '../support/images.js';
import { announced, audit, choose, cutOptions, drop, noteAnnounced } from '../support/page.js';

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
});

test('arrow keys open the snapshots one by one, and the focus stays', { tag: '@full' }, async ({ page }) => {
  await choose(page, images.snapshots());
  const picker = page.getByLabel('State of the disk');
  await expect(page.getByRole('radio', { name: 'As a download' })).toBeVisible();
  await picker.focus();
  for (const value of ['0', '1']) {
    await page.keyboard.press('ArrowDown');
    await expect(picker).toHaveValue(value);
    await expect(picker).toBeFocused();
  }
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).not.toHaveAttribute('aria-disabled');
});

test('the password has the focus, and is marked when it was wrong', async ({ page }) => {
  await choose(page, images.luks());
  const field = page.getByLabel('Password for luks.qcow2');
  await expect(field).toBeFocused();
  await expect(field).not.toHaveAttribute('aria-invalid');
  await page.keyboard.type('wrong');
  await page.keyboard.press('Enter');
  await expect(page.locator('.bad')).toBeVisible({ timeout: 30_000 });
  await expect(field).toBeFocused();
  await expect(field).toHaveAttribute('aria-invalid', 'true');
  await expect(field).toHaveAccessibleDescription(/password/i);
  await audit(page);
});

test('at 360 px the closed list shows the whole name of every format', { tag: '@full' }, async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 800 });
  await choose(page, images.snapshots());
  await expect(page.getByRole('combobox', { name: 'Output format' })).toBeVisible();
  expect(await cutOptions(page, 'output')).toEqual([]);
  // A snapshot may have any name, repeated below its list.
  await page.getByLabel('State of the disk').selectOption({ index: 1 });
  const chosen = await page
    .getByLabel('State of the disk')
    .evaluate((list: HTMLSelectElement) => list.selectedOptions[0]!.label);
  await expect(page.locator('.card p').filter({ hasText: chosen })).toBeVisible();
});

test('each warning that appears is announced once', async ({ page }, testInfo) => {
  const odd = testInfo.outputPath('odd.qcow2');
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', odd, '3145216']);
  execFileSync('qemu-img', ['snapshot', '-c', 'before', odd]);
  await noteAnnounced(page);
  await drop(page, [odd, images.states()]);
  const convert = page.getByRole('button', { name: 'Convert', exact: true });
  await expect(page.getByRole('heading', { name: 'odd.qcow2' })).toBeVisible();
  const output = page.getByRole('combobox', { name: 'Output format' });
  const name = page.getByLabel('File name');
  const said = async (...texts: (string | RegExp)[]) => {
    await expect.poll(async () => (await announced(page)).length).toBe(texts.length);
    for (const [at, text] of (await announced(page)).entries()) expect(text).toMatch(texts[at]!);
  };
  await output.selectOption('vpc');
  await said(/^512\sbytes of zeros are added at the end/);
  await name.fill('a/b.vhd');
  await said(/^512\sbytes/, /^A file name cannot contain \//);
  await name.pressSequentially('c/d');
  await convert.click();
  await expect(name).toBeFocused();
  await said(/^512\sbytes/, /^A file name cannot contain \//);
  // With the focus, its description is read.
  await name.fill('');
  await convert.click();
  await expect(name).toBeFocused();
  await expect(name).toHaveAccessibleDescription('Enter a file name.');
  await said(/^512\sbytes/, /^A file name cannot contain \//);
  await name.fill('mine.vhd');
  await page.getByLabel('State of the disk').selectOption({ index: 1 });
  // The image is opened again.
  await said(/^512\sbytes/, /^A file name cannot contain \//, /^512\sbytes/);
  await page.getByRole('button', { name: 'Remove states.qcow2' }).click();
  await said(
    /^512\sbytes/,
    /^A file name cannot contain \//,
    /^512\sbytes/,
    /^Removed from the queue: states\.qcow2\.$/,
  );
  await audit(page);
});

test('a lone link has room inside its border where colours are forced', { tag: '@full' }, async ({ page }) => {
  await choose(page, images.chain().top);
  const link = page.getByRole('button', { name: 'Choose another file' });
  await expect(link).toBeVisible();
  const padding = () => link.evaluate((button) => Number.parseFloat(getComputedStyle(button).paddingInlineStart));
  expect(await padding()).toBe(0);
  await page.emulateMedia({ forcedColors: 'active' });
  expect(await padding()).toBeGreaterThan(8);
});

test.describe('with the folds closed', () => {
  // To open the field for a link moves the focus.
  test.use({ opensFolds: false });

  test(
    'a cancel while the image is unlocked leads back to the start, and nothing throws',
    { tag: '@full' },
    async ({ page }) => {
      await choose(page, images.luksSlow());
      await page.getByLabel('Password for luks-slow.qcow2').fill(PASSWORD);
      // At once: after a slow click, the image may be unlocked.
      const cancelled = page.evaluate(
        () =>
          new Promise<void>((resolve) => {
            const root = document.querySelector('decant-converter')!.shadowRoot!;
            new MutationObserver((_, observer) => {
              const isUnlocking = root.querySelector('h2')?.textContent.startsWith('Unlocking luks-slow.qcow2');
              const cancel = [...root.querySelectorAll('button')].find(({ textContent }) => textContent === 'Cancel');
              if (!isUnlocking || !cancel) return;
              observer.disconnect();
              cancel.click();
              resolve();
            }).observe(root, { childList: true, subtree: true, characterData: true });
          }),
      );
      await page.getByRole('button', { name: 'Unlock' }).click();
      await cancelled;
      await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeFocused();
      // The next image opens as usual.
      await choose(page, images.kinds());
      await expect(page.getByRole('heading', { name: 'kinds.qcow2' })).toBeVisible();
    },
  );
});

test('going on to another image in any step throws nothing', { tag: '@full' }, async ({ page }, testInfo) => {
  const other = testInfo.outputPath('other.qcow2');
  copyFileSync(images.states(), other);
  for (const image of [images.kinds(), images.luks(), images.truncated(), images.chain().top, other]) {
    await choose(page, image);
    await page.getByRole('button', { name: 'Choose another file' }).click();
    await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
  }
});

test('"Done" is read with the place', { tag: '@full' }, async ({ page }) => {
  await choose(page, images.kinds());
  await page.getByRole('radio', { name: 'As a download' }).click();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  const heading = page.getByRole('heading', { name: 'Done: kinds.raw' });
  await expect(heading).toBeFocused();
  await expect(heading).toHaveAccessibleDescription(/MB in your downloads/);
  await expect(page.getByRole('status')).toContainText(/Done.*kinds\.raw.*downloads/);
});

/** The contrast of each colour to the card, or to the drop area. */
const contrasts = (page: Page, colours: string[]): Promise<number[]> =>
  page.evaluate((colours) => {
    const root = document.querySelector('decant-converter')!.shadowRoot!;
    const card = getComputedStyle(root.querySelector('.drop') ?? root.querySelector('.card')!).backgroundColor;
    const luminance = (...layers: string[]) => {
      const canvas = new OffscreenCanvas(1, 1).getContext('2d')!;
      for (const colour of layers) {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
      }
      const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const around = luminance(card);
    return colours.map((colour) => {
      const value = luminance(card, colour);
      return (Math.max(value, around) + 0.05) / (Math.min(value, around) + 0.05);
    });
  }, colours);

/** The contrast of every visible control's border, and of the picture's colours, to the surroundings. */
async function borders(page: Page) {
  const found = await page.evaluate(() => {
    const root = document.querySelector('decant-converter')!.shadowRoot!;
    const controls = root.querySelectorAll<HTMLElement>(
      'button:not(.link), .choice, select, input:not([type=radio]):not([hidden]), .drop',
    );
    return [
      ...[...controls].map((control) => ({
        control: control.className || control.localName,
        colour: getComputedStyle(control).borderTopColor,
        least: 3,
      })),
      // Empty cells are a faint background.
      ...[...root.querySelectorAll('.swatch:not(.empty)')].map((swatch) => ({
        control: swatch.className,
        colour: getComputedStyle(swatch).backgroundColor,
        least: 4.5,
      })),
    ];
  });
  const ratios = await contrasts(
    page,
    found.map(({ colour }) => colour),
  );
  return found.map((one, at) => ({ ...one, ratio: ratios[at]! }));
}

/** The cells of the picture: the colour in the middle on the card, its opacity, and whether the left edge is painted. */
const cells = (page: Page) =>
  page.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    const isWide = canvas.clientWidth >= 560;
    const [side, gap] = isWide ? [8, 2] : [6, 2];
    const columns = Math.floor((canvas.width + gap) / (side + gap));
    const rows = Math.floor((canvas.height + gap) / (side + gap));
    return Array.from({ length: columns * rows }, (_, at) => {
      const left = Math.round(((at % columns) * (canvas.width + gap)) / columns);
      const y = Math.floor(at / columns) * (side + gap) + side / 2;
      const pixel = (x: number) => [...data.subarray(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 4)];
      const [red, green, blue, alpha] = pixel(left + side / 2) as [number, number, number, number];
      return {
        colour: `rgb(${red} ${green} ${blue} / ${alpha / 255})`,
        opacity: alpha / 255,
        isWhole: pixel(left)[3]! > 0,
      };
    });
  });

test('pointing at a partition dims the other cells, until the pointer leaves', { tag: '@full' }, async ({ page }) => {
  await choose(page, images.partitioned());
  await expect(page.locator('.lane').getByText('ext4')).toBeVisible();
  const opacities = async () => (await cells(page)).map(({ opacity }) => opacity);
  const least = async () => Math.min(...(await opacities()));
  await expect.poll(least).toBeGreaterThan(0.7);
  const before = await opacities();
  await page.locator('.part').last().hover();
  await expect.poll(least).toBeLessThan(0.31);
  // The last partition keeps its cells; the others have three tenths of their opacity.
  const during = await opacities();
  const kept = during.flatMap((opacity, at) => (opacity === before[at] ? at : []));
  expect(kept.length).toBeGreaterThan(during.length / 2);
  expect(kept.at(-1)! - kept[0]!).toBe(kept.length - 1);
  for (const [at, opacity] of during.entries())
    expect(opacity / before[at]!).toBeCloseTo(kept.includes(at) ? 1 : 0.3, 1);
  await page.mouse.move(5, 5);
  await expect.poll(opacities).toEqual(before);
});

test.describe('by touch', () => {
  test.use({ hasTouch: true });
  test('what a finger touched in the picture is said until it touches something else', async ({ page }) => {
    await choose(page, images.partitioned());
    await expect(page.locator('.lane').getByText('ext4')).toBeVisible();
    const tip = page.locator('.tip');
    await expect(tip).toBeHidden();
    await page.locator('canvas').tap({ position: { x: 100, y: 100 } });
    await expect(tip).toBeVisible();
    await expect(tip).toContainText('ext4');
    await page.getByRole('heading', { name: 'partitioned' }).tap();
    await expect(tip).toBeHidden();
  });
});

test('borders of controls stand out, light and dark', { tag: '@full' }, async ({ page }) => {
  const check = async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const found = await borders(page);
      expect(found.length).toBeGreaterThan(0);
      expect(
        found.filter(({ ratio, least }) => ratio < least),
        colorScheme,
      ).toEqual([]);
    }
  };
  await check();
  await choose(page, images.states());
  await expect(page.getByRole('radio', { name: 'As a download' })).toBeEnabled();
  await check();
  await page.getByRole('button', { name: 'Choose another file' }).click();
  await choose(page, images.chain().top, ...images.chain().below);
  await expect(page.locator('.layer-2')).toBeVisible();
  await check();
});

test('the picture stays where it is from step to step', { tag: '@full' }, async ({ page }) => {
  const places = new Set<string>();
  const note = async () =>
    places.add(
      await page.locator('.cells').evaluate((cells) => {
        const { left, top, width } = cells.closest('.picture')!.getBoundingClientRect();
        return [left, top + scrollY, width].join();
      }),
    );
  await choose(page, images.partitioned());
  await expect(page.locator('.lane').getByText('ext4')).toBeVisible();
  await page.getByRole('radio', { name: 'As a download' }).click();
  await note();
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.locator('.numbers')).toBeVisible();
  await note();
  await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible();
  await note();
  await page.getByRole('button', { name: 'Convert another image' }).click();
  await choose(page, images.raw());
  await expect(page.getByRole('button', { name: 'Read it as a raw disk' })).toBeVisible();
  await note();
  expect([...places]).toHaveLength(1);
});

test.describe('while it converts', () => {
  useGates();

  test(
    'with forced colours the bar and the picture are seen, and how far they are',
    { tag: '@full' },
    async ({ page }, testInfo) => {
      await page.emulateMedia({ forcedColors: 'active' });
      await choose(page, sparse(64 << 20).image);
      await page.getByRole('radio', { name: 'As a download' }).click();
      await stopMidway(page, 'sparse-64.qcow2', () =>
        page.getByRole('button', { name: 'Convert', exact: true }).click(),
      );
      const bar = page.locator('progress');
      const picture = await bar.screenshot({ path: testInfo.outputPath('bar.png') });
      // The left end is done, the right end is not: they differ.
      const [left, right] = await page.evaluate(
        async (picture) => {
          const bitmap = await createImageBitmap(new Blob([new Uint8Array(picture)]));
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')!;
          canvas.drawImage(bitmap, 0, 0);
          const at = (x: number) => [...canvas.getImageData(x, bitmap.height / 2, 1, 1).data].join();
          return [at(3), at(bitmap.width - 4)];
        },
        [...picture],
      );
      expect(left).not.toBe(right);
      // The last cell is empty and not converted. Black on white: the least grey that is seen.
      const alpha = await page.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext('2d')!.getImageData(4, canvas.height - 5, 1, 1);
        const [red = 0, , , opacity = 0] = data;
        return (Math.abs(red - 255) / 255) * (opacity / 255);
      });
      expect(alpha).toBeGreaterThan(0.12);
    },
  );

  test(
    'cells that wait stand out from the card as those that are done, and are smaller',
    { tag: '@full' },
    async ({ page }) => {
      await choose(page, sparse(64 << 20).image);
      await page.getByRole('radio', { name: 'As a download' }).click();
      await stopMidway(page, 'sparse-64.qcow2', () =>
        page.getByRole('button', { name: 'Convert', exact: true }).click(),
      );
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await expect.poll(async () => (await cells(page)).every(({ opacity }) => opacity === 1)).toBe(true);
        const all = await cells(page);
        const empty = await page
          .locator('.swatch.empty')
          .evaluate((swatch) => getComputedStyle(swatch).backgroundColor);
        const isSame = (colour: string) =>
          colour.match(/\d+/g)!.slice(0, 3).join() === empty.match(/\d+/g)!.slice(0, 3).join();
        const data = all.filter(({ colour }) => !isSame(colour));
        expect(new Set(data.map(({ isWhole }) => isWhole))).toEqual(new Set([true, false]));
        const ratios = await contrasts(page, [...new Set(data.map(({ colour }) => colour))]);
        expect(Math.min(...ratios), colorScheme).toBeGreaterThan(3);
      }
    },
  );
});

test('Convert can be pressed at once, before all is known of the browser', async ({ page }) => {
  // The query for other converting tabs never answers.
  await page.evaluate(() => {
    LockManager.prototype.query = () => new Promise(() => {});
  });
  await choose(page, images.kinds());
  await expect(page.getByRole('radio', { name: 'As a download' })).toBeChecked();
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).not.toHaveAttribute('aria-disabled');
});

test('the dialog for files opens once, and a missing file is reported', { tag: '@full' }, async ({ page }) => {
  await page.evaluate(() => {
    const asked: ((handles: FileSystemFileHandle[]) => void)[] = [];
    Object.assign(window, { asked, showOpenFilePicker: () => new Promise((resolve) => asked.push(resolve)) });
  });
  await page.getByRole('button', { name: 'Choose a file' }).dblclick();
  const asked = await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const gone = await root.getFileHandle('gone.qcow2', { create: true });
    await root.removeEntry('gone.qcow2');
    const { asked } = window as unknown as { asked: ((handles: FileSystemFileHandle[]) => void)[] };
    asked[0]!([gone]);
    return asked.length;
  });
  expect(asked).toBe(1);
  await expect(page.getByText('Could not read the chosen files; try again.').first()).toBeVisible();
  await page.getByRole('button', { name: 'Choose a file' }).click();
  expect(await page.evaluate(() => (window as unknown as { asked: unknown[] }).asked.length)).toBe(2);
});

for (const lang of ['en', 'de']) {
  test(`a long name leaves the picture where it is: ${lang}`, { tag: '@full' }, async ({ page }, testInfo) => {
    const name = 'backup-of-the-production-web-server-2024-11-30-weekly';
    const damaged = testInfo.outputPath('Truncated backup of the production web server of November.qcow2');
    const path = testInfo.outputPath(`${name}.qcow2`);
    copyFileSync(images.kinds(), path);
    copyFileSync(images.truncated(), damaged);
    await page.evaluate((lang) => {
      document.querySelector('decant-converter')!.lang = lang;
    }, lang);
    const tops = new Set<string>();
    const look = async () => {
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        const box = await page.locator('.picture').evaluate(async (picture) => {
          // The heading is fitted in the frame after a change of its width.
          for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
          return picture.getBoundingClientRect().top + scrollY;
        });
        tops.add(`${width}: ${box}`);
      }
    };
    const heading = page.locator('.head h2');
    await choose(page, path);
    await expect(page.locator('[data-convert]')).not.toHaveAttribute('aria-disabled');
    await look();
    await page.setViewportSize({ width: 360, height: 800 });
    await expect(heading).toHaveText(/^backup-of.*…/);
    await expect(heading).toHaveAttribute('title', `${name}.qcow2`);
    await expect(heading).toHaveAccessibleName(`${name}.qcow2`);
    await page.locator('[data-convert]').click();
    await expect(page.locator('#place')).toBeVisible();
    await look();
    await page.locator('.actions .primary').click();
    await choose(page, damaged);
    await expect(page.locator('.bad')).toBeVisible();
    await look();
    expect([...tops]).toHaveLength(2);
  });
}
