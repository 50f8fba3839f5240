// `npm run bench`: sets up, builds, and runs the benchmark.

import { build } from './build.mjs';
import { benchmarkPrograms, uploadServers } from './setup.mjs';

await build();
benchmarkPrograms();
await uploadServers();
await import('../bench/run.mjs');
