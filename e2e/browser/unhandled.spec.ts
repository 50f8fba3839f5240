// Tests see every unhandled error, wherever it is thrown: the fixture `context` relies on it.

import { chromium } from '@playwright/test';
import { expect, loadApi, test } from '../support/browser.js';
import { watchUnhandled } from '../support/unhandled.js';

for (const { place, script, tag } of [
  { place: 'a page', script: '/dist/browser.js', tag: '@full' },
  { place: 'a worker', script: '/dist/worker.js', tag: [] },
]) {
  test(`a rejection in ${place} that nobody handles`, { tag }, async ({ launchOptions, servers }) => {
    const { isolated: server } = servers;
    const reject = `Promise.reject(new Error('rejected in ${place}'));`;
    server.alter = (path, text) => (path === script ? `${reject}\n${text}` : text);
    const browser = await chromium.launch(launchOptions);
    try {
      const page = await browser.newPage();
      const check = watchUnhandled(page.context());
      await page.goto(`${server.url}/blank`);
      await loadApi(page);
      await page.evaluate(() => window.decant.prepare({ workers: 1 }));
      await expect(() => expect(check).toThrow(`rejected in ${place}`)).toPass();
    } finally {
      server.alter = undefined;
      await browser.close();
    }
  });
}
