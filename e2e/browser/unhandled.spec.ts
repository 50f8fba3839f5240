// What nobody catches is seen by the tests, wherever it is thrown: the fixture `context` relies on it.

import { chromium } from '@playwright/test';
import { expect, loadApi, test } from '../support/browser.js';
import { watchUnhandled } from '../support/unhandled.js';

for (const { place, name, script } of [
  { place: 'a page', name: '', script: '/dist/index.js' },
  { place: 'a coordinator', name: 'decant', script: '/dist/worker.browser.js' },
  { place: 'a pool worker', name: 'decant pool', script: '/dist/worker.browser.js' },
]) {
  test(`a rejection in ${place} that nobody handles`, async ({ launchOptions, servers }) => {
    const { isolated: server } = servers;
    const reject = `if (self.name === '${name}') Promise.reject(new Error('rejected in ${place}'));`;
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
