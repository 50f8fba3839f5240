// Runs the tests beside their sources.

import { readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { bin, root } from '../lib.mjs';
import { count, start, took } from './tally.mjs';

export async function vitest() {
  const name = 'tests beside their sources';
  const report = join(root, '.cache', 'vitest.json');
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { ok, seconds } = await start(name, bin('vitest'), ['run', ...reporters]);
  try {
    const { numPassedTests, numTotalTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    for (const { name, startTime, endTime } of testResults) took(relative(root, name), (endTime - startTime) / 1000);
    const failed = numTotalTests - numPassedTests;
    count(name, { passed: numPassedTests, failed: failed === 0 && !ok ? 1 : failed, seconds });
  } catch {
    count(name, { failed: 1, seconds });
  }
}
