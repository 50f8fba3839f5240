// Runs projects of e2e/playwright.config.ts.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bin, root } from '../lib.mjs';
import { count, start } from './tally.mjs';

/** Runs `projects`; `args` are more arguments for Playwright. */
export function playwright(projects, env, ...args) {
  const name = `Playwright: ${[...projects, ...args].join(', ')}`;
  const report = join(root, '.cache', 'playwright.json');
  rmSync(report, { force: true });
  const chosen = projects.map((project) => `--project=${project}`);
  const { ok } = start(name, bin('playwright'), ['test', '-c', 'e2e', ...chosen, ...args], { env });
  try {
    const { expected, unexpected, skipped, flaky } = JSON.parse(readFileSync(report, 'utf8')).stats;
    const failed = unexpected + skipped + flaky;
    count(name, { passed: expected, failed: failed === 0 && !ok ? 1 : failed });
  } catch {
    count(name, { failed: 1 });
  }
}
