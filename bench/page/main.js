// The functions that the benchmark calls, bundled with the package.

import * as decant from 'decant';
import { threads } from 'decant/threads';
import * as other from 'decant-other';
import { threads as otherThreads } from 'decant-other/threads';
import { run } from './task.js';

decant.configure({ threads });
other.configure({ threads: otherThreads });
/** By the names in bench/arguments.mjs. */
globalThis.builds = { Decant: decant, 'the other build': other };
/** Starts the worker of rivals.js. */
globalThis.startRival = () => new Worker(new URL('rivals.js', import.meta.url), { type: 'module' });

// Without Playwright, the page's address states the task.
const task = Object.fromEntries(new URLSearchParams(location.search));
if (task.build !== undefined) {
  const took = await run(task).catch(({ message }) => ({ failed: message }));
  await fetch(`/tell?${new URLSearchParams({ took: JSON.stringify(took) })}`);
}
