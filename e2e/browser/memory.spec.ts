// Lack of memory in the browser is reported as such, or avoided.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, giveFile, hashOpfs, type Page, storage, test } from '../support/browser.js';
import { hashFile, images, sparse } from '../support/images.js';
import { withMemory } from '../support/wasm-memory.js';

// For scripts that run before the package's.
test.use({ bypassCSP: true });

const dist = (path: string) => readFileSync(fileURLToPath(new URL(`../../dist/${path}`, import.meta.url)));

async function convert(page: Page): Promise<{ kind: string; code?: string; message: string }> {
  return page.evaluate(async () => {
    try {
      const image = await window.decant.open(window.file, { salvage: true, engine: 'workers', workers: 2 });
      try {
        const { lostBytes } = await image.convert({ opfs: 'out.raw' });
        return { kind: 'done', message: `${lostBytes} lost` };
      } finally {
        await image.close();
      }
    } catch (error) {
      const { kind, code, message } = error as { kind: string; code: string; message: string };
      return { kind, code, message };
    }
  });
}

/** Runs before every worker's own script: its browser reads no more than `most` bytes at once, and fails with `name`. */
const limit = (name: string, most: number): string => `
  const read = Blob.prototype.arrayBuffer;
  Blob.prototype.arrayBuffer = function () {
    if (this.size <= ${most}) return read.call(this);
    return Promise.reject(Object.assign(new Error('too large'), { name: '${name}' }));
  };
  const script = (code) => URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  globalThis.Worker = class extends Worker {
    constructor(url, options) {
      super(script(\`import '\${import.meta.url}'; import '\${url}';\`), options);
    }
  };
`;

/** Limits reads of all workers, including nested ones, to `most` bytes at once. */
async function limitReads(page: Page, name: string, most: number): Promise<void> {
  await page.evaluate(
    async (code) => {
      const read = Blob.prototype.arrayBuffer;
      await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
      // The page itself is unchanged.
      Blob.prototype.arrayBuffer = read;
    },
    limit(name, most),
  );
}

for (const { name, tag = [] } of [{ name: 'NotReadableError' }, { name: 'RangeError', tag: '@full' }]) {
  test(`a read that is too large is tried again in parts: ${name}`, { tag }, async ({ apiPage: page }) => {
    await limitReads(page, name, 300 << 10);
    await giveFile(page, images.zlib());
    expect(await convert(page)).toEqual({ kind: 'done', message: '0 lost' });
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
  });
}

for (const { name, kind, code, message, tag = [] } of [
  {
    name: 'NotReadableError',
    kind: 'source',
    code: 'source-unreadable',
    message: 'may have been changed',
    tag: '@full',
  },
  { name: 'RangeError', kind: 'internal', code: 'out-of-memory', message: 'use fewer workers' },
] as const) {
  test(`a read that also fails in parts reports its reason: ${name}`, { tag }, async ({ apiPage: page }) => {
    await limitReads(page, name, 64 << 10);
    await giveFile(page, images.zlib());
    expect(await convert(page)).toEqual({ kind, code, message: expect.stringContaining(message) });
    expect((await storage(page)).names).toEqual([]);
  });
}

// In the coordinator, or in a pool worker; by an answer of the wasm, or by a trap.
for (const { pages, tag = [] } of [
  { pages: 0, tag: '@full' },
  { pages: 4, tag: '@full' },
  { pages: 16 },
  { pages: 64, tag: '@full' },
  { pages: 4096, tag: '@full' },
]) {
  test(
    `wasm with ${pages} pages more than at its start says that memory has run out, or is done`,
    { tag },
    async ({ apiPage: page }) => {
      // With enough data for every `DECANT_DISK_MIB`.
      const { image, raw } = sparse(64 << 20);
      const body = Buffer.from(withMemory(dist('decant.wasm'), pages));
      await page.context().route('**/decant.wasm', (route) =>
        route.fulfill({
          contentType: 'application/wasm',
          headers: { 'cross-origin-resource-policy': 'same-origin' },
          body,
        }),
      );
      await giveFile(page, image);
      const { kind, message } = await convert(page);
      if (pages < 4096) {
        expect(kind, message).toBe('internal');
        expect((await storage(page)).names).toEqual([]);
        return;
      }
      expect({ kind, message }).toEqual({ kind: 'done', message: '0 lost' });
      expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(raw));
    },
  );
}
