import { defineConfig } from '@playwright/test';
import { leftOut } from './support/scope.js';

/** Chromium as Debian ships it; without a sandbox, since tests run as root, and without prompts. */
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

/** The tag of tests that take minutes: in Chromium, a separate project runs them. */
const LONG = /@long/;

/** Tests with networks, in Node. */
const NETWORK = ['**/{http,http-answers,nginx,requests,resume,resume-upload,upload-answers,uploads}.spec.ts'];

/** Tests that convert the images of Rust's tests. */
const MATRIX = ['**/matrix.spec.ts'];

/** The package in other projects, whose files are in `projects`. */
const consumers = { testDir: 'consumers', testIgnore: '**/projects/**', use: { launchOptions: chromium } };

/** Each is a way to run one: support/webdriver/browsers.ts. */
const OTHER_BROWSERS = ['firefox', 'firefox-private', 'webkit', 'webkit-as-safari', 'webkit-as-safari-private'];

// Playwright sets FORCE_COLOR, and Node warns on standard error where both are set.
delete process.env.NO_COLOR;

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  // Passed tests would otherwise leave many gigabytes.
  preserveOutput: 'failures-only',
  timeout: 120_000,
  // A busy machine takes longer than Playwright's 5 s.
  expect: { timeout: 60_000 },
  workers: 1,
  forbidOnly: true,
  reporter: [['list'], ['json', { outputFile: '../.cache/playwright.json' }]],
  projects: [
    // First, since it has the files that take longest: one at the end would run alone.
    { name: 'node-network', testDir: 'node', testMatch: NETWORK },
    { name: 'chromium', testDir: 'browser', grepInvert: [LONG, leftOut], use: { launchOptions: chromium } },
    { name: 'node', testDir: 'node', testIgnore: [...NETWORK, ...MATRIX] },
    { name: 'chromium-long', testDir: 'browser', grep: LONG, use: { launchOptions: chromium } },
    { name: 'matrix', testDir: 'node', testMatch: MATRIX },
    { name: 'platforms', testDir: 'platforms' },
    { name: 'sizes', testDir: 'sizes', use: { launchOptions: chromium } },
    { name: 'servers', testDir: 'servers' },
    { name: 'pictures', testDir: 'pictures', use: { launchOptions: chromium } },
    { name: 'consumers', ...consumers },
    ...OTHER_BROWSERS.map((name) => ({ name, testDir: 'webdriver' })),
  ].map((project) => ({ grepInvert: leftOut, ...project })),
});
