// Starts workers in advance.

import { freeCoordinator } from '../client-side/coordinator.js';
import { startPool } from '../client-side/pool.js';
import { toDecantError } from '../errors/errors.js';
import type { PrepareOptions } from '../public/types.js';
import { checkCall, settle } from './options.js';
import type { Platform } from './platform.js';

/** Starts the workers that open and convert images. Fails with a `DecantError`. */
export async function prepareWorkers(platform: Platform, options: PrepareOptions = {}): Promise<void> {
  checkCall('prepare', options);
  const { engine, workers } = settle(options, platform);
  const coordinator = freeCoordinator(platform).prepare();
  const pool = startPool(platform, engine, workers);
  await Promise.all([coordinator, pool]).catch((thrown) => {
    throw toDecantError(thrown);
  });
}
