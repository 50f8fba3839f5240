// Runs projects of e2e/playwright.config.ts.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bin, root } from '../lib.mjs';
import { count, start, took } from './tally.mjs';

/** Adds the seconds of all tests in a suite of the report. */
function addTimes({ specs = [], suites = [] }) {
  for (const { file, tests } of specs) {
    for (const { results } of tests) for (const { duration } of results) took(`e2e/${file}`, duration / 1000);
  }
  suites.forEach(addTimes);
}

/** Runs `projects`; `args` are more arguments for Playwright. */
export async function playwright(projects, env, ...args) {
  const name = `Playwright: ${[...projects, ...args].join(', ')}`;
  const report = join(root, '.cache', 'playwright.json');
  rmSync(report, { force: true });
  const chosen = projects.map((project) => `--project=${project}`);
  const command = ['test', '-c', 'e2e', ...chosen, ...args];
  // The tests of the core take longest where they must be compiled, and use one core only at times.
  const { ok, seconds } = await start(name, bin('playwright'), command, { env, live: true, yields: true });
  try {
    const { stats, suites } = JSON.parse(readFileSync(report, 'utf8'));
    suites.forEach(addTimes);
    const failed = stats.unexpected + stats.skipped + stats.flaky;
    count(name, { passed: stats.expected, failed: failed === 0 && !ok ? 1 : failed, seconds });
  } catch {
    count(name, { failed: 1, seconds });
  }
}
