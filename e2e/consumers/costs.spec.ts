// What single imports of the packed package cost in a page that a bundler makes, minified and compressed by brotli.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { build, project } from '../support/consumers/project.js';

/** The largest size of each import, in bytes, with any of the bundlers. */
const LIMITS = { DecantError: 2000, nextStep: 9500, putTarget: 21_000 };

test('an import costs what it is', { tag: '@full' }, async () => {
  test.setTimeout(10 * 60_000);
  const made = await build(await project('costs', ['costs']), 'build', 'costs');
  const costs = JSON.parse(readFileSync(join(made, 'costs.json'), 'utf8')) as Record<string, Record<string, number>>;
  for (const [name, limit] of Object.entries(LIMITS)) {
    for (const [bundler, bytes] of Object.entries(costs[name]!)) {
      expect(bytes, `${name} with ${bundler}`).toBeLessThanOrEqual(limit);
      // It is there.
      expect(bytes, `${name} with ${bundler}`).toBeGreaterThan(500);
    }
  }
});
