// Firefox and WebKit with the built package and page, a project for each way to run them.

import { rmSync } from 'node:fs';
import { test as base, expect } from '@playwright/test';
import { loadDecant, takeFile } from '../in-page.js';
import { startServer, type TestServer } from '../server.js';
import { startFirefox } from './firefox.js';
import type { Session } from './session.js';
import { startWebKit } from './webkit.js';

export { expect };

interface Browser {
  start(folder: string): Promise<Session>;
  /** The capacity of a page's private file system, in bytes; 0 if a page has none. */
  room: number;
}

/** By the name of the project. */
const BROWSERS: Record<string, Browser> = {
  firefox: { start: (folder) => startFirefox(folder), room: Number.POSITIVE_INFINITY },
  'firefox-private': { start: (folder) => startFirefox(folder, { incognito: true }), room: 0 },
  webkit: { start: (folder) => startWebKit(folder), room: 0 },
  'webkit-as-safari': { start: (folder) => startWebKit(folder, { likeSafari: true }), room: 1000 * 2 ** 20 },
  'webkit-as-safari-private': {
    start: (folder) => startWebKit(folder, { likeSafari: true, incognito: true }),
    room: 0,
  },
};

export const test = base.extend<
  { browserUnderTest: Browser; session: Session; chooseImage: (path: string) => Promise<void> },
  { server: TestServer }
>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const server = await startServer({ isolated: true });
      await use(server);
      await server.close();
    },
    { scope: 'worker' },
  ],

  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  browserUnderTest: async ({}, use, testInfo) => {
    await use(BROWSERS[testInfo.project.name]!);
  },

  /** A browser with a new profile. */
  session: async ({ browserUnderTest }, use, testInfo) => {
    const folder = testInfo.outputPath('browser');
    const session = await browserUnderTest.start(folder);
    await use(session);
    if (testInfo.errors.length > 0) {
      await testInfo.attach('page', { body: await session.picture(), contentType: 'image/png' });
    }
    await session.stop();
    // Disks are large.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  },

  /** A blank page that has the package as `window.decant`; then an image as `window.file`. */
  chooseImage: async ({ session, server }, use) => {
    await session.goto(`${server.url}/blank`);
    await session.run(loadDecant, ['/dist/browser.js', '/dist/threads.js'] as const);
    await use(async (path) => {
      await session.choose(path);
      await session.run(takeFile);
    });
  },
});
