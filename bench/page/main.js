// What the benchmark calls, as a bundler makes it of the package.

import * as decant from 'decant';

globalThis.decant = decant;
/** Starts the worker of rivals.js. */
globalThis.startRival = () => new Worker(new URL('rivals.js', import.meta.url), { type: 'module' });
