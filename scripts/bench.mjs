// `npm run bench`: sets up, builds, and runs the benchmark.

import { build } from './build.mjs';
import { benchmarkPrograms } from './setup.mjs';

await build();
benchmarkPrograms();
await import('../bench/run.mjs');
