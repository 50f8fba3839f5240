// What the page loads for a first conversion, by cause, in kilobytes compressed by brotli.
//
// `node bench/first-load.mjs` prints it for the build in this checkout.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

/** The most that a first conversion may load, in kilobytes. */
const LIMITS = { workers: 330, threads: 420 };

/** The page's own files, by cause. */
const PAGE = /^index-.*\.(js|css)$/;
// Earlier builds had several worker scripts.
const WORKER = /^worker(-|\.plain|\.browser)/;
const OF_THREADS = [/^worker\.(threads|browser)/, /^threads-(?!extras).*\.js$/, /^workerHelpers/];

const compressed = (assets, name) => brotliCompressSync(readFileSync(join(assets, name))).length / 1000;

const sum = (assets, names) => names.map((name) => compressed(assets, name)).reduce((all, size) => all + size, 0);

/** The kilobytes of each part of a first conversion by `build`. */
function firstLoad({ assets, wasm }) {
  const names = readdirSync(assets);
  const matching = (...patterns) => names.filter((name) => patterns.some((pattern) => pattern.test(name)));
  // The wasm has another name in the page.
  const wasmOf = (engine) => {
    const { size } = statSync(wasm[engine]);
    return names.filter((name) => name.endsWith('.wasm') && statSync(join(assets, name)).size === size).slice(0, 1);
  };
  const parts = {
    wasm: sum(assets, wasmOf('workers')),
    page: sum(assets, matching(PAGE)),
    worker: sum(assets, matching(WORKER)),
  };
  const workers = parts.wasm + parts.page + parts.worker;
  return { ...parts, workers, threads: workers + sum(assets, [...matching(...OF_THREADS), ...wasmOf('threads')]) };
}

/** Rows of a table with a column for each of `builds`. */
export function firstLoadRows(builds) {
  const loads = builds.map(firstLoad);
  const row = (what, of) => [what, ...loads.map((load) => `${of(load).toFixed(0)} KB`)];
  return [
    row(`first conversion by the page, brotli, at most ${LIMITS.workers} KB`, ({ workers }) => workers),
    row('of that, the wasm', ({ wasm }) => wasm),
    row("of that, the page's script and styles", ({ page }) => page),
    row("of that, the worker's script", ({ worker }) => worker),
    row(`first conversion by threads, brotli, at most ${LIMITS.threads} KB`, ({ threads }) => threads),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { builds } = await import('./arguments.mjs');
  for (const [what, size] of firstLoadRows(builds.slice(0, 1))) console.log(`${size.padStart(6)}  ${what}`);
}
