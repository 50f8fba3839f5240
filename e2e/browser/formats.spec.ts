// Output formats besides raw: their bytes by every way of writing, and their choice on the page.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { expect, giveFile, type Page, storage, test } from '../support/browser.js';
import { hashFile, images, qemuImg, sparse } from '../support/images.js';
import { choose, limitStorage, look, lookAgain } from '../support/page.js';

const MIB = 2 ** 20;
const FOOTER = 512;
const ODD = 3 * MIB + 512;

/** A disk whose size is not a whole number of MiB, with data in its first and its last sector. */
function odd(path: string): string {
  qemuImg('create', '-q', '-f', 'qcow2', path, String(ODD));
  execFileSync('qemu-io', ['-c', 'write -q -P 5 0 512', '-c', `write -q -P 7 ${3 * MIB} 512`, path]);
  return path;
}

/** The bytes of that disk, in a VHD. */
function oddDisk(): Buffer {
  const disk = Buffer.alloc(4 * MIB);
  disk.fill(5, 0, 512);
  disk.fill(7, 3 * MIB, ODD);
  return disk;
}

/** Converts `window.file` to a VHD. Resolves to the result. */
async function convert(page: Page, engine: 'threads' | 'workers', target: 'opfs' | 'folder' | 'handle' | 'stream') {
  return page.evaluate(
    async ({ engine, target }) => {
      const root = await navigator.storage.getDirectory();
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      const output = {
        opfs: () => ({ opfs: 'out.vhd' }),
        folder: () => ({ folder: root, name: 'out.vhd' }),
        handle: () => root.getFileHandle('out.vhd', { create: true }),
        stream: () => new WritableStream<Uint8Array>({ write: (piece) => void pieces.push(new Uint8Array(piece)) }),
      }[target]();
      const image = await window.decant.open(window.file, { engine, workers: 2 });
      const { outputSize, notices } = await image.convert(await output, { format: 'vpc' });
      await image.close();
      const made = target === 'stream' ? new Blob(pieces) : await (await root.getFileHandle('out.vhd')).getFile();
      const hex = (bytes: ArrayBuffer) =>
        [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      const disk = await made.slice(0, made.size - 512).arrayBuffer();
      return {
        size: made.size,
        outputSize,
        notices,
        disk: hex(await crypto.subtle.digest('SHA-256', disk)),
        footer: hex(await made.slice(made.size - 512).arrayBuffer()),
      };
    },
    { engine, target },
  );
}

for (const { engine, target, tag } of [
  { engine: 'threads', target: 'opfs', tag: '@full' },
  { engine: 'threads', target: 'handle', tag: '@long' },
  { engine: 'threads', target: 'stream', tag: '@long' },
  { engine: 'workers', target: 'opfs', tag: '@long' },
  { engine: 'workers', target: 'handle', tag: '@long' },
  { engine: 'workers', target: 'stream', tag: '@full' },
] as const) {
  test(`an archive by ${engine}, ${target}, as the browser decompresses it`, { tag }, async ({ apiPage: page }) => {
    await giveFile(page, images.zlib());
    const made = await page.evaluate(
      async ({ engine, target }) => {
        const root = await navigator.storage.getDirectory();
        const pieces: Uint8Array<ArrayBuffer>[] = [];
        const output = {
          opfs: () => ({ opfs: 'out.tar.gz' }),
          handle: () => root.getFileHandle('out.tar.gz', { create: true }),
          stream: () => new WritableStream<Uint8Array>({ write: (piece) => void pieces.push(new Uint8Array(piece)) }),
        }[target]();
        const image = await window.decant.open(window.file, { engine, workers: 2 });
        const virtualSize = image.info.virtualSize!;
        const { outputSize } = await image.convert(await output, { format: 'tar.gz' });
        await image.close();
        const file = target === 'stream' ? new Blob(pieces) : await (await root.getFileHandle('out.tar.gz')).getFile();
        // Keeps the header and the disk, and only counts the zeros after them.
        const kept = new Uint8Array(512 + virtualSize);
        let length = 0;
        const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          if (length < kept.length) kept.set(next.value.subarray(0, kept.length - length), length);
          length += next.value.length;
        }
        const disk = await crypto.subtle.digest('SHA-256', kept.subarray(512));
        const hex = [...new Uint8Array(disk)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
        return { isWhole: file.size === outputSize, length, disk: hex };
      },
      { engine, target },
    );
    const length = Math.ceil((2 ** 30 + 512 + 1024) / 10_240) * 10_240;
    expect(made).toEqual({ isWhole: true, length, disk: hashFile(images.raw()) });
  });
}

/** Each way of writing once: a file in a folder is written as one by its handle. */
const VHDS_IN_SHORT = ['workers opfs', 'threads stream'];

for (const engine of ['threads', 'workers'] as const) {
  for (const target of ['opfs', 'folder', 'handle', 'stream'] as const) {
    const tag = VHDS_IN_SHORT.includes(`${engine} ${target}`) ? [] : '@full';
    test(`a VHD by ${engine}, ${target}`, { tag }, async ({ apiPage: page }, testInfo) => {
      await giveFile(page, odd(testInfo.outputPath('odd.qcow2')));
      const made = await convert(page, engine, target);
      expect(made).toMatchObject({
        size: 4 * MIB + FOOTER,
        outputSize: 4 * MIB + FOOTER,
        notices: [{ code: 'disk-grows', fields: { added: MIB - 512, unit: MIB } }],
        disk: createHash('sha256').update(oddDisk()).digest('hex'),
      });
      const footer = Buffer.from(made.footer, 'hex');
      expect(footer.subarray(0, 8).toString()).toBe('conectix');
      expect(footer.subarray(28, 32).toString()).toBe('win ');
      expect(footer.readBigUInt64BE(48)).toBe(BigInt(4 * MIB));
      // Of random bytes, in browsers too.
      expect(footer.subarray(68, 84).toString('hex')).toMatch(/^(?!0{12}).{12}4.{3}[89ab]/);
      expect((await storage(page)).names).toEqual(target === 'stream' ? [] : ['out.vhd']);
    });
  }
}

test('the workers and the coordinator write a file of many jobs together', async ({ apiPage: page }) => {
  const { image, raw } = sparse(64 << 20);
  await giveFile(page, image);
  const made = await convert(page, 'workers', 'opfs');
  expect(made).toMatchObject({ size: statSync(raw).size + FOOTER, disk: hashFile(raw), notices: [] });
  // No handle is left open.
  expect(await page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('out.vhd'))).toBe(
    undefined,
  );
});

test.describe('the page', () => {
  test.beforeEach(async ({ page }) => {
    await page.goto('/');
    await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
  });

  test('offers what the disk can become, and saves it so', async ({ page }, testInfo) => {
    await choose(page, odd(testInfo.outputPath('odd.qcow2')));
    const output = page.getByRole('combobox', { name: 'Output format' });
    const name = page.getByRole('textbox', { name: 'File name' });
    await expect(output.getByRole('option')).toHaveText([
      'Raw disk',
      'qcow2',
      'VMDK',
      'VHD',
      'VHDX',
      'VDI',
      'Raw disk, compressed',
      'Raw disk, zstd',
      'Raw disk, xz',
      'tar.gz with disk.raw',
      'OVA',
    ]);
    await expect(output.locator('optgroup')).toHaveCount(7);
    await expect(output).toHaveValue('raw');
    await expect(name).toHaveValue('odd.raw');
    const notice = page.getByText('1 MB of zeros are added at the end, to a multiple of 1,048,576 bytes.');
    await expect(notice).toHaveCount(0);
    await output.selectOption('VHD');
    await expect(output).toHaveAccessibleDescription('For Azure');
    await expect(name).toHaveValue('odd.vhd');
    await expect(notice.first()).toBeVisible();
    // A typed name stays as it is.
    await name.fill('mine.vhd');
    await output.selectOption('Raw disk');
    await expect(name).toHaveValue('mine.vhd');
    const mismatch = page.getByText("The name ends in .vhd, but the format's files end in .raw.").first();
    await expect(mismatch).toBeVisible();
    await output.selectOption('VHD');
    await expect(mismatch).toHaveCount(0);
    await page.getByRole('radio', { name: 'As a download' }).click();
    await expect(page.getByText('Takes the full 3.1 MB')).toBeVisible();
    await lookAgain(page, testInfo, 'ready');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    expect((await download).suggestedFilename()).toBe('mine.vhd');
    const path = testInfo.outputPath('mine.vhd');
    await (await download).saveAs(path);
    await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
    await expect(notice.first()).toBeVisible();
    await lookAgain(page, testInfo, 'done');
    expect(statSync(path).size).toBe(4 * MIB + FOOTER);
    qemuImg('compare', '-f', 'vpc', '-F', 'qcow2', path, testInfo.outputPath('odd.qcow2'));
    // The choice stays for the next image.
    await page.getByRole('button', { name: 'Convert another image' }).click();
    await choose(page, images.kinds());
    await expect(output).toHaveValue('vpc');
    await expect(name).toHaveValue('kinds.vhd');
  });

  test('a streamed download is announced with the size of the VHD', { tag: '@full' }, async ({ page }, testInfo) => {
    await limitStorage(page);
    await choose(page, images.kinds());
    await page.getByRole('combobox', { name: 'Output format' }).selectOption('VHD');
    await page.getByRole('radio', { name: 'As a download' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.locator('#saving')).toContainText('The browser has received all of kinds.vhd.');
    const path = testInfo.outputPath('kinds.vhd');
    await (await download).saveAs(path);
    qemuImg('compare', '-f', 'vpc', '-F', 'qcow2', path, images.kinds());
  });

  test('a compressed disk of unknown size is downloaded in both ways', { tag: '@full' }, async ({ page }, testInfo) => {
    for (const hasRoom of [true, false]) {
      if (!hasRoom) await limitStorage(page);
      await page.reload();
      await choose(page, images.kinds());
      await page.getByRole('combobox', { name: 'Output format' }).selectOption('Raw disk, compressed');
      await page.getByRole('radio', { name: 'As a download' }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Convert', exact: true }).click();
      expect((await download).suggestedFilename()).toBe('kinds.raw.gz');
      const path = testInfo.outputPath(`kinds-${hasRoom}.raw`);
      await (await download).saveAs(`${path}.gz`);
      await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
      execFileSync('gunzip', [`${path}.gz`]);
      qemuImg('compare', '-f', 'raw', '-F', 'qcow2', path, images.kinds());
    }
  });

  test('says why a disk cannot become a VHD', { tag: '@full' }, async ({ page }, testInfo) => {
    await choose(page, images.huge());
    await expect(page.getByRole('option', { name: 'VHD', exact: true })).toBeDisabled();
    await expect(page.getByText('For Azure: VHD is not possible. A VHD holds at most 2.2 TB')).toBeVisible();
    await look(page, testInfo, 'refused');
  });
});
