// The page: choosing files, and what axe says of it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type Page } from './browser.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function choose(page: Page, ...files: string[]): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(files);
}

export async function audit(page: Page): Promise<void> {
  const violations = await page.evaluate(
    `${axe}; axe.run().then((result) => result.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' ')))`,
  );
  expect(violations).toEqual([]);
}
