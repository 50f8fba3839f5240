// What the benchmark calls, as a bundler makes it of the package.

import * as decant from 'decant';
import { threads } from 'decant/threads';
import * as other from 'decant-other';

decant.configure({ threads });
/** By the names that bench/arguments.mjs gives them. */
globalThis.builds = { Decant: decant, 'the other build': other };
/** Starts the worker of rivals.js. */
globalThis.startRival = () => new Worker(new URL('rivals.js', import.meta.url), { type: 'module' });

/** Converts the image at `url` to the private storage. Resolves to how many seconds it took. */
async function convert(build, url) {
  const start = performance.now();
  const image = await builds[build].open(url);
  await image.convert({ opfs: 'out.raw' });
  await image.close();
  return (performance.now() - start) / 1000;
}

// Where nobody drives the browser, its address says what to do.
const { build, url } = Object.fromEntries(new URLSearchParams(location.search));
if (url !== undefined) {
  const seconds = await convert(build, url).catch((thrown) => thrown.message);
  await fetch(`/tell?${new URLSearchParams({ seconds })}`);
}
