// `npm run bench`: sets up, builds, and runs the benchmark.

import { build } from './build.mjs';
import { benchmarkPrograms, npmServers, s3Server } from './setup.mjs';

await build();
benchmarkPrograms();
const { isSweep, quick } = await import('../bench/arguments.mjs');
if (isSweep) {
  (await import('../bench/growth.mjs')).growth();
} else {
  await npmServers();
  // Its compilation takes minutes.
  if (!quick) s3Server();
  await import('../bench/run.mjs');
}
