// Node: a folder for each test.

import { mkdirSync } from 'node:fs';
import { test as base, expect } from '@playwright/test';

export { expect };

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
