// `npm run bench`: sets up, builds, and runs the benchmark.

import { build } from './build.mjs';
import { benchmarkPrograms, uploadServers } from './setup.mjs';

await build();
benchmarkPrograms();
await uploadServers();
const { isSweep } = await import('../bench/arguments.mjs');
if (isSweep) (await import('../bench/growth.mjs')).growth();
else await import('../bench/run.mjs');
