// Node: a folder for each test.

import { mkdirSync } from 'node:fs';
import { test as base, expect as baseExpect } from '@playwright/test';

/** What is waited for may take as long as a busy machine needs. */
export const expect = baseExpect.configure({ timeout: 60_000 });

/** A test that the short scope leaves out. */
export const FULL = { tag: '@full' };

export const test = base.extend<{ folder: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
  folder: async ({}, use, testInfo) => {
    const folder = testInfo.outputPath('work');
    mkdirSync(folder, { recursive: true });
    await use(folder);
  },
});
