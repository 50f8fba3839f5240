// `npm test` runs the part `short`. `npm run test:long` runs all parts, or those that are named:
// `npm run test:long -- matrix browsers`. Installs what a part needs. The last line is "N passed, N failed".

import { build } from './build.mjs';
import { fail, say } from './lib.mjs';
import { compiler, olderCompilers, otherBrowsers, rust, testPrograms, uploadServers } from './setup.mjs';
import { checks } from './tests/checks.mjs';
import { playwright } from './tests/playwright.mjs';
import { narrowRustTests, rustTests } from './tests/rust.mjs';
import { count, counted } from './tests/tally.mjs';

/** The environment of the long parts: whole matrices instead of samples, long random runs, large disks. */
const LONG = { DECANT_TESTS: 'long' };

/** The projects for other browsers: see e2e/support/webdriver/browsers.ts. */
const OTHER_BROWSERS = ['firefox', 'firefox-private', 'webkit', 'webkit-as-safari', 'webkit-as-safari-private'];

/** Each part takes less than 45 minutes on two cores; `short` takes less than 30. */
const PARTS = {
  /** All tests, with samples of the matrices. */
  short() {
    checks();
    rustTests();
    const projects = ['chromium', 'node', 'chromium-more', 'node-network', 'sizes', 'consumers-short'];
    playwright(projects, {}, '--workers=2');
  },
  /** The whole matrices and random runs of the core, their images through the command, and all pairs in Node and Chromium. */
  matrix() {
    rustTests(LONG);
    playwright(['node'], LONG);
    playwright(['chromium'], LONG, 'pairs.spec');
  },
  /** The tests of the core once more, where a pointer has 32 bits, as in WebAssembly. */
  narrow() {
    narrowRustTests(LONG);
  },
  /** Large disks in Chromium, in a profile and in private windows. */
  sizes() {
    playwright(['sizes'], LONG);
  },
  /** Images on servers, uploads, and what is cut off: long random runs, kills, and servers of others. */
  async network() {
    await uploadServers();
    playwright(['node-network', 'servers'], LONG);
    playwright(['chromium'], LONG, 'browser/http.spec', 'browser/resume.spec');
  },
  /** The packed package with every bundler, framework, runtime and test runner. */
  consumers() {
    playwright(['consumers'], LONG);
  },
  /** The long tests in Chromium, and the other browsers. */
  browsers() {
    otherBrowsers();
    playwright(['chromium-long', ...OTHER_BROWSERS], LONG);
  },
};

const named = process.argv.slice(2).filter((argument) => argument !== '--long');
const unknown = named.find((name) => !Object.hasOwn(PARTS, name));
if (unknown !== undefined) fail(`There is no part '${unknown}'.`, `The parts are: ${Object.keys(PARTS).join(', ')}.`);
const all = process.argv.includes('--long') ? Object.keys(PARTS) : ['short'];
const parts = named.length > 0 ? named : all;

let complete = false;
// Printed even if set-up or a build has ended the script.
process.on('exit', () => {
  if (!complete) count('set-up', { failed: 1 });
  const { passed, failed } = counted();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
});

await build();
compiler();
rust();
testPrograms();
await olderCompilers();
for (const part of parts) {
  const before = counted();
  say(`part ${part}`);
  await PARTS[part]();
  const { passed, failed } = counted();
  say(`part ${part}: ${passed - before.passed} passed, ${failed - before.failed} failed`);
}

complete = true;
