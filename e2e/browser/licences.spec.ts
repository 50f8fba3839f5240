// The page says under which licences it is.

import { expect, test } from '../support/browser.js';

test('the page serves its licences', async ({ page, context }) => {
  await page.goto('/');
  const opened = context.waitForEvent('page');
  await page.getByRole('contentinfo').getByRole('link', { name: 'Licence' }).click();
  const licences = await opened;
  await licences.waitForLoadState();
  // With a digest in its name, as all files that the page keeps for offline use.
  expect(licences.url()).toMatch(/\/assets\/THIRD-PARTY-NOTICES-[\w-]{8}\.txt$/);
  const text = await licences.evaluate(() => document.body.innerText);
  for (const part of [
    'Decant 0.',
    'lit 3.',
    'zstd-sys 2.',
    "Rust's standard library 1.",
    'Permission is hereby granted',
  ]) {
    expect(text).toContain(part);
  }
});
