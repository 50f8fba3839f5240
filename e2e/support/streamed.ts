// Streamed downloads in Chromium, in private windows and in profiles: the page with its service worker, and
// `streamed-module.ts` in it.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Download,
  type Page,
} from '@playwright/test';
import { test as base, expect } from './browser.js';
import { bundle } from './bundle.js';
import { watchUnhandled } from './unhandled.js';

type Streamed = typeof import('./streamed-module.js');

declare global {
  interface Window {
    streamed: Streamed;
    /** The download that a test has begun. */
    begun: import('../../dist/element.js').StreamedDownload;
    writer: WritableStreamDefaultWriter<Uint8Array>;
    /** The message of the writer's failure. */
    failure: Promise<string>;
  }
}

/** The path at which `addModule` lets a server have the module. */
export const MODULE = '/test/streamed.js';

const SERVICE_WORKER = '/service-worker.js';

/** Comes before the service worker's script. It looks for its page every 2 s; here a hundred times as often. */
const HURRY = 'const every = self.setInterval; self.setInterval = (work, time) => every(work, time / 100);';

/**
 * Runs in a page: its waits for its service worker and its browser, 5 to 20 s, last 20 times as long, so that a slow
 * machine passes. Tests of these waits drive a clock.
 */
function waitLong(): void {
  const { setTimeout } = window;
  const patient = (work: () => void, time = 0) => setTimeout(work, time >= 5000 && time <= 20_000 ? time * 20 : time);
  Object.assign(window, { setTimeout: patient });
}

interface Fixtures {
  /** A private window or a profile of its own. */
  mode: 'private' | 'profile';
  /** The folder of downloads, empty at first. */
  downloads: string;
  profile: BrowserContext;
  /** The page with its service worker, and the module as `window.streamed`. */
  streaming: Page;
}

export const test = base.extend<Fixtures, { windows: { browser: Browser; downloads: string } }>({
  mode: ['private', { option: true }],

  /** The browser of all private windows. */
  windows: [
    async ({ launchOptions }, use) => {
      const downloads = mkdtempSync(join(tmpdir(), 'decant-downloads-'));
      const browser = await chromium.launch({ ...launchOptions, downloadsPath: downloads });
      await use({ browser, downloads });
      await browser.close();
      rmSync(downloads, { recursive: true });
    },
    { scope: 'worker' },
  ],

  downloads: async ({ mode, windows }, use, testInfo) => {
    const folder = mode === 'private' ? windows.downloads : testInfo.outputPath('downloads');
    mkdirSync(folder, { recursive: true });
    expect(readdirSync(folder), 'left by another test').toEqual([]);
    await use(folder);
  },

  profile: async ({ mode, windows, downloads, launchOptions, baseURL }, use, testInfo) => {
    const context: BrowserContextOptions = { baseURL: baseURL! };
    const options = { ...launchOptions, downloadsPath: downloads, ...context };
    const opened =
      mode === 'profile'
        ? await chromium.launchPersistentContext(testInfo.outputPath('profile'), options)
        : await windows.browser.newContext(context);
    await use(opened);
    await opened.close();
  },

  streaming: async ({ profile, servers, isolated }, use) => {
    const check = watchUnhandled(profile);
    const server = servers[isolated ? 'isolated' : 'plain'];
    server.scripts.set(MODULE, await bundle('e2e/support/streamed-module.ts'));
    server.alter = (path, script) => (path === SERVICE_WORKER ? HURRY + script : script);
    const page = await profile.newPage();
    await page.addInitScript(waitLong);
    await page.goto('/');
    await loadModule(page);
    expect(await page.evaluate(() => window.streamed.streamObstacle())).toBeUndefined();
    await use(page);
    server.alter = undefined;
    check();
  },
});

export { expect };

export async function loadModule(page: Page): Promise<void> {
  await page.evaluate(async (url) => {
    window.streamed = await import(url);
  }, MODULE);
}

/** Begins a download, as `window.begun` with a writer and its failure. */
export async function begin(page: Page, name: string, size: number): Promise<Download> {
  const coming = page.waitForEvent('download');
  await page.evaluate(
    async ([name, size]) => {
      window.begun = await window.streamed.openStreamedDownload(name, size);
      window.writer = window.begun.writable.getWriter();
      window.failure = window.writer.closed.then(
        () => 'none',
        (reason) => reason.message,
      );
    },
    [name, size] as const,
  );
  return coming;
}

/** Writes `size` bytes that follow from their positions, in pieces of up to `piece` bytes. */
export async function write(page: Page, size: number, piece = 3_000_000): Promise<void> {
  await page.evaluate(
    async ([size, piece]) => {
      for (let at = 0; at < size; at += piece) {
        const bytes = new Uint8Array(Math.min(piece, size - at));
        for (let index = 0; index < bytes.length; index += 1) bytes[index] = ((at + index) * 2654435761) >>> 13;
        await window.writer.write(bytes);
      }
    },
    [size, piece] as const,
  );
}
