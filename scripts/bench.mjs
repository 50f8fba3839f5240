// `npm run bench`: sets up, builds, and runs the benchmark.

import { build } from './build.mjs';
import { testPrograms } from './setup.mjs';

await build();
testPrograms();
await import('../bench/run.mjs');
