// Starts workers in advance.

import { freeCoordinator } from '../client-side/coordinator.js';
import { startPool, WORTH_ALL } from '../client-side/pool.js';
import { toDecantError } from '../errors/errors.js';
import type { PrepareOptions } from '../public/types.js';
import { checkCall, settle } from './options.js';
import type { Platform } from './platform.js';
import { requireWhole } from './reading.js';

/** Starts the workers that open and convert images. Fails with a `DecantError`. */
export async function prepareWorkers(platform: Platform, options: PrepareOptions = {}): Promise<void> {
  checkCall('prepare', options);
  const { size = Number.POSITIVE_INFINITY } = options;
  if (size !== Number.POSITIVE_INFINITY) requireWhole('size', size);
  const { engine, workers } = settle(options, platform);
  const coordinator = freeCoordinator(platform).prepare();
  const pool = size < WORTH_ALL ? undefined : startPool(platform, engine, workers);
  await Promise.all([coordinator, pool]).catch((thrown) => {
    throw toDecantError(thrown);
  });
}
