// Chromium's windows as people have them: of a profile that stays, or private. (A page of Playwright's own `page` is
// private too, but belongs to no window of the browser's.)

import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type BrowserContext, chromium } from '@playwright/test';
import { test as base, expect, type Page } from './browser.js';
import { openFolds } from './folds.js';
import { watchUnhandled } from './unhandled.js';

export { expect };

export class Window {
  constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    private readonly profile: string,
    /** The folder where downloads land. */
    readonly downloads: string,
  ) {}

  /** Waits for the download that `start` causes, to its end; returns its path. */
  async download(start: () => Promise<unknown>): Promise<string> {
    const begun = this.page.waitForEvent('download', { timeout: 0 });
    const [download] = await Promise.all([begun, start()]);
    expect(await download.failure()).toBeNull();
    return join(this.downloads, download.suggestedFilename());
  }

  /** The files of all private file systems in the profile, on this machine's disk; a private window keeps none there. */
  stored(): string[] {
    const folder = join(this.profile, 'Default', 'File System');
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    // Those of a file system are in folders of two digits; the others are databases.
    const files = names.filter((name) => /\/\d\d\/\d+$/.test(name)).map((name) => join(folder, name));
    return files.filter((file) => statSync(file).isFile());
  }
}

export const test = base.extend<{ openWindow: (incognito: boolean) => Promise<Window> }>({
  /** Opens a window of a browser of its own, with a new profile. */
  openWindow: async ({ launchOptions, baseURL }, use, testInfo) => {
    const contexts: BrowserContext[] = [];
    const checks: (() => void)[] = [];
    await use(async (incognito) => {
      const folder = testInfo.outputPath(`window-${contexts.length}`);
      const [profile, downloads] = [join(folder, 'profile'), join(folder, 'downloads')];
      const context = await chromium.launchPersistentContext(profile, {
        ...launchOptions,
        args: [...launchOptions.args!, ...(incognito ? ['--incognito'] : [])],
        baseURL: baseURL!,
      });
      contexts.push(context);
      checks.push(watchUnhandled(context));
      openFolds(context);
      // The window that the browser has opened: a new page would be one of the profile.
      const page = context.pages()[0]!;
      const client = await context.newCDPSession(page);
      // By their own names, which Playwright does not give them, and in a private window at all.
      await client.send('Page.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
      return new Window(page, context, profile, downloads);
    });
    for (const context of contexts) await context.close();
    // Disks are large.
    for (const at of contexts.keys()) rmSync(testInfo.outputPath(`window-${at}`), { recursive: true, force: true });
    for (const check of checks) check();
  },
});
