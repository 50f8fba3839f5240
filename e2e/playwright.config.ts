import { defineConfig } from '@playwright/test';

/** Chromium as Debian ships it; as root it needs no sandbox, and it is to ask nobody anything. */
const chromium = {
  executablePath: '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  timeout: 120_000,
  workers: 1,
  forbidOnly: true,
  reporter: [['list'], ['json', { outputFile: '../.cache/playwright.json' }]],
  projects: [
    { name: 'node', testDir: 'node' },
    { name: 'chromium', testDir: 'browser', use: { launchOptions: chromium } },
  ],
});
