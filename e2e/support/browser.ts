// Chromium with the built package: pages and helpers.

import { test as base, expect, type Page } from '@playwright/test';
import { openFolds } from './folds.js';
import { defineHold, type HeldSource, loadDecant } from './in-page.js';
import type { Decant } from './package.js';
import { startServer, type TestServer } from './server.js';
import { watchUnhandled } from './unhandled.js';

export type { Page };
export { expect };

declare global {
  interface Window {
    decant: Decant;
    file: File;
    hold(file: File, state?: string): HeldSource;
    /** A source for tests that call `holdFrom` from outside the page. */
    held: HeldSource;
  }
}

/** The engines, for tests that apply to both: the short scope runs one of them. */
export const ENGINES = [
  ['workers', {}],
  ['threads', { tag: '@full' }],
] as const;

export const test = base.extend<
  { isolated: boolean; opensFolds: boolean; apiPage: Page },
  { servers: Record<'isolated' | 'plain', TestServer> }
>({
  isolated: [true, { option: true }],
  opensFolds: [true, { option: true }],

  servers: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const servers = {
        isolated: await startServer({ isolated: true }),
        plain: await startServer({ isolated: false }),
      };
      await use(servers);
      await servers.isolated.close();
      await servers.plain.close();
    },
    { scope: 'worker' },
  ],

  baseURL: async ({ servers, isolated }, use) => {
    await use(servers[isolated ? 'isolated' : 'plain'].url);
  },

  /** Fails a test after uncaught errors, and resets `alter` of the servers. */
  context: async ({ context, servers, opensFolds }, use) => {
    const check = watchUnhandled(context);
    if (opensFolds) openFolds(context);
    await use(context);
    for (const server of Object.values(servers)) server.alter = undefined;
    check();
  },

  /** A blank page that has the package as `window.decant`. */
  apiPage: async ({ page }, use) => {
    await page.goto('/blank');
    await loadApi(page);
    await use(page);
  },
});

export async function loadApi(page: Page): Promise<void> {
  await page.evaluate(loadDecant, ['/dist/browser.js', '/dist/threads.js'] as const);
  await page.evaluate(defineHold);
}

/**
 * Blocks file reads beyond `offset` in workers that start from now on, until `server.alter` is reset; but not the read of the last
 * 512 bytes, which identifies a file.
 */
export function holdFiles(server: TestServer, offset: number): void {
  const hold = (from: number): void => {
    const { arrayBuffer, slice, stream } = Blob.prototype;
    /** Where they begin. */
    const held = new WeakMap<Blob, number>();
    Blob.prototype.slice = function (this: Blob, start = 0, end = this.size, type = '') {
      const part = slice.call(this, start, end, type);
      if (end > from && start !== this.size - 512) held.set(part, start);
      return part;
    };
    // A stream ends before the held bytes, which are then read by slices.
    Blob.prototype.stream = function () {
      return stream.call(slice.call(this, 0, Math.max(0, from - (held.get(this) ?? Number.NEGATIVE_INFINITY))));
    };
    Blob.prototype.arrayBuffer = function () {
      return held.has(this) ? new Promise(() => {}) : arrayBuffer.call(this);
    };
    type Reader = { readAsArrayBuffer(this: unknown, file: Blob): ArrayBuffer };
    const { prototype } = (globalThis as unknown as { FileReaderSync: { prototype: Reader } }).FileReaderSync;
    const { readAsArrayBuffer } = prototype;
    prototype.readAsArrayBuffer = function (file) {
      if (held.has(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      return readAsArrayBuffer.call(this, file);
    };
  };
  server.alter = (path, script) => (/\/worker[.\w-]*\.js$/.test(path) ? `(${hold})(${offset});${script}` : script);
}

/** Turns off the limit of ten progress reports a second: the page's clock advances by a second at each call. */
export async function reportAll(page: Page): Promise<void> {
  await page.evaluate(() => {
    let now = performance.now();
    performance.now = () => {
      now += 1000;
      return now;
    };
  });
}

/** Gives the page the file at `path` as `window.file`. */
export async function giveFile(page: Page, path: string): Promise<void> {
  await page.locator('input').setInputFiles(path);
  await page.evaluate(() => {
    window.file = document.querySelector('input')!.files![0]!;
  });
}

/** SHA-256 of a file in the private file system, hexadecimal. */
export async function hashOpfs(page: Page, name: string): Promise<string> {
  return page.evaluate(async (name) => {
    const root = await navigator.storage.getDirectory();
    const file = await (await root.getFileHandle(name)).getFile();
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }, name);
}

/** All files of the private file system, with folders, and the usage of the origin. */
export async function storage(page: Page): Promise<{ names: string[]; usage: number }> {
  return page.evaluate(async () => {
    const names: string[] = [];
    async function list(folder: FileSystemDirectoryHandle, prefix: string): Promise<void> {
      for await (const [name, entry] of folder.entries()) {
        if (entry.kind === 'directory') await list(entry as FileSystemDirectoryHandle, `${prefix}${name}/`);
        else names.push(`${prefix}${name}`);
      }
    }
    await list(await navigator.storage.getDirectory(), '');
    return { names, usage: (await navigator.storage.estimate()).usage! };
  });
}
