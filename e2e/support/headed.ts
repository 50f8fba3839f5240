// Chromium with windows and dialogs, on a separate display.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type LaunchOptions } from '@playwright/test';
import type { Page } from './browser.js';
import { openFolds } from './folds.js';
import { pickFolder } from './save-dialog.mjs';
import { watchUnhandled } from './unhandled.js';

export interface Headed {
  url: string;
  display: string;
  launch: LaunchOptions;
  /** A normal profile; otherwise the window is a private one. */
  profile?: boolean;
  /** The home folder for the browser. */
  home?: string;
  /** Blocks service workers, as gates need it. */
  gates?: boolean;
}

/** Opens the page at `url`, works with it, and fails if there was an uncaught error. */
export async function withHeaded(options: Headed, work: (page: Page) => Promise<void>): Promise<void> {
  const { url, display, profile, home, gates } = options;
  const serviceWorkers = gates ? 'block' : 'allow';
  const env = { ...process.env, DISPLAY: display, ...(home ? { HOME: home } : {}) } as Record<string, string>;
  const launch = { ...options.launch, headless: false, env };
  const folder = profile ? mkdtempSync(join(tmpdir(), 'decant-profile-')) : undefined;
  const browser = folder ? undefined : await chromium.launch(launch);
  const context: BrowserContext = folder
    ? await chromium.launchPersistentContext(folder, { ...launch, serviceWorkers })
    : await browser!.newContext({ serviceWorkers });
  const check = watchUnhandled(context);
  openFolds(context);
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    await page.goto(url);
    await work(page);
    check();
  } finally {
    await context.close();
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true, force: true });
  }
}

/** Answers the dialog for a folder, which the page has just asked for. */
export async function answerFolder(page: Page, display: string, path: string): Promise<void> {
  await pickFolder(
    display,
    path,
    async () => !(await page.getByText("Pick a place in the browser's dialog").first().isVisible()),
  );
}
