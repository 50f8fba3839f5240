// Outputs that are made in the browser's storage and then sent to a target in order: nothing is left at any end.

import { writeFileSync } from 'node:fs';
import { ENGINES, expect, giveFile, hashOpfs, loadApi, type Page, storage, test } from '../support/browser.js';
import { heldDisk } from '../support/held.js';
import { images } from '../support/images.js';

const MIB = 1 << 20;

interface Asked {
  engine?: 'threads' | 'workers';
  format?: string;
  /** The method of the target that throws, or never ends. */
  fails?: 'open' | 'write' | 'close';
  waits?: 'open' | 'write' | 'close';
  /** Cancels when the target waits. */
  cancels?: boolean;
  /** The phase in which to cancel. */
  cancelIn?: string;
  /** The image is a raw disk. */
  isRaw?: boolean;
}

interface Ended {
  end: string;
  code?: string;
  /** The calls of the target; each write is one `write`. */
  calls: string[];
  phases: string[];
  hash: string;
  outputSize?: number;
}

/** Converts `window.file` to an ascending target, by the storage. */
const convert = (page: Page, asked: Asked): Promise<Ended> =>
  page.evaluate(async ({ engine = 'workers', format = 'qcow2', fails, waits, cancels, cancelIn, isRaw }) => {
    const [pieces, calls, phases]: [Uint8Array<ArrayBuffer>[], string[], string[]] = [[], [], []];
    const abort = new AbortController();
    const called = async (name: string) => {
      calls.push(name);
      if (name === fails) throw new Error('lost');
      if (name !== waits) return;
      if (cancels) setTimeout(() => abort.abort());
      await new Promise(() => {});
    };
    const target = {
      ascending: true,
      open: () => called('open'),
      async write(offset: number, bytes: Uint8Array<ArrayBuffer>) {
        await called('write');
        if (offset !== pieces.reduce((sum, { length }) => sum + length, 0)) throw new Error(`out of order: ${offset}`);
        pieces.push(bytes);
      },
      close: () => called('close'),
      abort: ({ kind }: Error & { kind?: string }) => called(`abort: ${kind}`),
    };
    const image = await window.decant.open(window.file, { engine, workers: 2, ...(isRaw && { inputFormat: 'raw' }) });
    const onProgress = ({ phase }: { phase: string }) => {
      if (phase !== phases.at(-1)) phases.push(phase);
      if (phase === cancelIn) setTimeout(() => abort.abort());
    };
    const options = { format, spool: true, onProgress, signal: abort.signal };
    const formatOptions: Record<string, string> = format === 'qcow2' ? { compress: 'on' } : {};
    const ended = await image.convert(target, { ...options, formatOptions }).then(
      ({ outputSize }) => ({ end: 'done', outputSize }),
      ({ kind, code }) => ({ end: String(kind), code: String(code) }),
    );
    await image.close();
    const digest = await crypto.subtle.digest('SHA-256', await new Blob(pieces).arrayBuffer());
    const hash = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return { ...ended, calls: calls.filter((name, at) => name !== calls[at - 1]), phases, hash };
  }, asked);

/** The temporary files in the storage. Workers that were ended may hold one for a moment. */
const left = async (page: Page) => (await storage(page)).names.filter((name) => name.startsWith('.decant'));

/** The SHA-256 of `window.file` as a compressed qcow2. */
async function expectedHash(page: Page): Promise<string> {
  await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    await image.convert({ opfs: 'expected' }, { format: 'qcow2', formatOptions: { compress: 'on' } });
    await image.close();
  });
  return hashOpfs(page, 'expected');
}

for (const [engine, details] of ENGINES) {
  test(`${engine}: a target gets the bytes of a file`, details, async ({ apiPage: page }) => {
    await giveFile(page, images.plain());
    const ended = await convert(page, { engine });
    expect(ended).toMatchObject({ end: 'done', calls: ['open', 'write', 'close'] });
    expect(ended.phases).toEqual(['preparing', 'converting', 'sending', 'finalizing']);
    expect(await left(page)).toEqual([]);
    expect(ended.hash).toBe(await expectedHash(page));
  });
}

test('a stream gets the bytes of a file', { tag: '@full' }, async ({ apiPage: page }) => {
  await giveFile(page, images.zlib());
  await page.evaluate(async () => {
    const file = await (await navigator.storage.getDirectory()).getFileHandle('out', { create: true });
    const image = await window.decant.open(window.file);
    const options = { format: 'qcow2', formatOptions: { compress: 'on' }, spool: true };
    await image.convert(await file.createWritable(), options);
    await image.close();
  });
  expect(await hashOpfs(page, 'out')).toBe(await expectedHash(page));
  expect(await left(page)).toEqual([]);
});

for (const { asked, end, calls, tag = '@full' } of [
  { asked: { fails: 'open' }, end: 'target', calls: ['open', 'abort: target'] },
  { asked: { fails: 'write' }, end: 'target', calls: ['open', 'write', 'abort: target'] },
  { asked: { fails: 'close' }, end: 'target', calls: ['open', 'write', 'close', 'abort: target'] },
  { asked: { cancelIn: 'preparing' }, end: 'cancelled', calls: ['abort: cancelled'] },
  { asked: { cancelIn: 'converting' }, end: 'cancelled', calls: ['abort: cancelled'], tag: [] },
  { asked: { cancels: true, waits: 'open' }, end: 'cancelled', calls: ['open', 'abort: cancelled'] },
  { asked: { cancels: true, waits: 'write' }, end: 'cancelled', calls: ['open', 'write', 'abort: cancelled'] },
  {
    asked: { cancels: true, waits: 'close' },
    end: 'cancelled',
    calls: ['open', 'write', 'close', 'abort: cancelled'],
  },
] as { asked: Asked; end: string; calls: string[]; tag?: [] }[]) {
  test(`nothing is left: ${JSON.stringify(asked)}`, { tag }, async ({ apiPage: page }) => {
    await giveFile(page, images.plain());
    expect(await convert(page, asked)).toMatchObject({ end, calls });
    await expect.poll(() => left(page)).toEqual([]);
  });
}

for (const [format, tag] of [
  ['qcow2', []],
  ['raw', ['@full']],
] as const) {
  test(`a storage that is full: ${format}`, { tag: [...tag] }, async ({ apiPage: page, context }, testInfo) => {
    const path = testInfo.outputPath('disk.raw');
    writeFileSync(path, heldDisk);
    await giveFile(page, path);
    const [client, { origin }] = [await context.newCDPSession(page), new URL(page.url())];
    await client.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 2 * MIB });
    const ended = await convert(page, { format, isRaw: true });
    expect(ended).toMatchObject({ end: 'target', code: 'spool-full', calls: ['abort: target'] });
    await expect.poll(() => left(page)).toEqual([]);
    await client.send('Storage.overrideQuotaForOrigin', { origin });
    expect(await convert(page, { format, isRaw: true })).toMatchObject({ end: 'done' });
  });
}

test('the file of a closed tab is swept', async ({ apiPage: page, context }) => {
  const other = await context.newPage();
  await other.goto('/blank');
  await loadApi(other);
  await giveFile(other, images.kinds());
  convert(other, { waits: 'write' }).catch(() => {});
  await expect.poll(() => left(page)).toHaveLength(1);
  await page.evaluate(() => window.decant.removeLeftovers());
  expect(await left(page)).toHaveLength(1);
  await other.close();
  await expect
    .poll(async () => {
      await page.evaluate(() => window.decant.removeLeftovers());
      return left(page);
    })
    .toEqual([]);
});

test('a folder, a closed stream, and outputs that are files, are refused', async ({ apiPage: page }) => {
  await giveFile(page, images.kinds());
  const seen = await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    const seen: string[] = [];
    const stream = new WritableStream({ abort: ({ kind }) => void seen.push(`abort: ${kind}`) });
    const closed = new WritableStream();
    await closed.close();
    for (const [output, spool] of [
      [stream, '/tmp'],
      [closed, true],
      [{ opfs: 'out' }, true],
    ] as const) {
      await image.convert(output, { spool: spool as true }).catch(({ kind, message }) => seen.push(kind, message));
    }
    await image.close();
    return seen;
  });
  expect(seen).toEqual([
    'abort: usage',
    'usage',
    "In a browser, 'spool' must be true or false",
    'usage',
    'The stream is closed',
    'usage',
    "A temporary file ('spool') is only for outputs that take bytes in ascending order, such as streams; omit it",
  ]);
  expect((await storage(page)).names).toEqual([]);
});
