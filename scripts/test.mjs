// `npm test` runs the tests of the scope `short`, `npm run test:full` those of `full`. `npm run test:long` runs all parts of
// the long run, or the named ones: `npm run test:long -- matrix browsers`. Installs the programs that the tests need. Prints
// the time of each step and of the slowest files. The last line is "N passed, N failed".

import { build } from './build.mjs';
import { fail, say } from './lib.mjs';
import {
  compiler,
  foreignReaders,
  fullTestPrograms,
  guestFiles,
  judges,
  olderCompilers,
  otherBrowsers,
  rust,
  testPrograms,
  uploadServers,
  workflowReader,
} from './setup.mjs';
import { fuzzChecks, rustChecks, scriptChecks, wasmChecks, workflowChecks } from './tests/checks.mjs';
import { playwright } from './tests/playwright.mjs';
import { narrowRustTests, randomRustTests, rustTests } from './tests/rust.mjs';
import { count, counted, printTimes } from './tests/tally.mjs';
import { vitest } from './tests/vitest.mjs';
import { workflowSteps } from './tests/workflow.mjs';

/** The scopes of tests: CONTRIBUTING.md. */
const SHORT = { DECANT_TESTS: 'short' };
const FULL = { DECANT_TESTS: 'full' };
const LONG = { DECANT_TESTS: 'long' };

/** See e2e/support/webdriver/browsers.ts. */
const OTHER_BROWSERS = ['firefox', 'firefox-private', 'webkit', 'webkit-as-safari', 'webkit-as-safari-private'];

/** Projects that run in Chromium and Node, four tests at a time: they often wait. */
const PROJECTS = ['chromium', 'node', 'node-network', 'sizes', 'consumers'];

/** Runs the parts of Rust and of the scripts concurrently. */
async function everything(env, lints) {
  const core = async () => {
    await rustTests(env);
    for (const lint of lints) await lint();
  };
  const scripts = async () => {
    await scriptChecks();
    await vitest();
    await playwright(PROJECTS, env, '--workers=4');
  };
  await Promise.all([core(), scripts()]);
}

const short = () => everything(SHORT, [rustChecks]);

async function full() {
  await everything(FULL, [rustChecks, wasmChecks, fuzzChecks, workflowChecks]);
  // The matrix converts the images that Rust's tests have made.
  await playwright(['matrix', 'platforms'], FULL);
}

/** Each part takes less than 45 minutes on two cores. */
const PARTS = {
  /** As `npm run test:full`. */
  full,
  /** The whole matrices of the core, their images through the command, and all pairs in Node and Chromium. */
  async matrix() {
    await rustTests(LONG);
    await playwright(['node', 'matrix'], LONG);
    await playwright(['chromium'], LONG, 'pairs.spec');
  },
  /** Images and compressed files with random changes, and random disks, through the core. */
  random: () => randomRustTests(LONG),
  /** The tests of the core with pointers of 32 bits, as in WebAssembly. */
  narrow: () => narrowRustTests(LONG, FULL),
  /** Large disks in Chromium, in a profile and in private windows. */
  sizes: () => playwright(['sizes'], LONG),
  /** Images on servers, uploads, and interruptions: long random runs, kills, and third-party servers. */
  async network() {
    await uploadServers();
    await playwright(['node-network', 'servers'], LONG);
    await playwright(['chromium'], LONG, 'browser/http.spec', 'browser/resume.spec');
  },
  /** The packed package with every bundler, framework, runtime and test runner. */
  consumers: () => playwright(['consumers'], LONG),
  /** The long tests in Chromium, and the other browsers. */
  async browsers() {
    otherBrowsers();
    await playwright(['chromium-long', ...OTHER_BROWSERS], LONG);
  },
  /** What the workflow of tests runs on Debian, in a fresh clone: `npm test` among it. */
  clone: workflowSteps,
};

/** The parts named in the arguments. */
function chosen() {
  const [option, ...names] = process.argv.slice(2);
  if (option === undefined) return { short };
  if (option === '--full') return { full };
  const unknown = names.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined) fail(`There is no part '${unknown}'.`, `The parts are: ${Object.keys(PARTS).join(', ')}.`);
  return names.length === 0 ? PARTS : Object.fromEntries(names.map((name) => [name, PARTS[name]]));
}

const parts = chosen();

let complete = false;
// Printed even if set-up or a build has ended the script.
process.on('exit', () => {
  if (!complete) count('set-up', { failed: 1 });
  printTimes();
  const { passed, failed } = counted();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
});

await build();
compiler();
rust();
testPrograms();
await foreignReaders();
if (!('short' in parts)) {
  fullTestPrograms();
  await guestFiles();
  await judges();
  await olderCompilers();
  await workflowReader();
}
for (const [name, part] of Object.entries(parts)) {
  const before = counted();
  say(`part ${name}`);
  await part();
  const { passed, failed } = counted();
  say(`part ${name}: ${passed - before.passed} passed, ${failed - before.failed} failed`);
}

complete = true;
