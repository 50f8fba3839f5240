// Workers that are started before there is something to do.

import { checkObject, settle } from './options.js';
import type { Platform } from './platform/platform.js';
import { acquire, acquireReader, type Team } from './team.js';
import type { PrepareOptions } from './types.js';

/** The teams that open an image and that convert it, unless it needs extras where these are a build of their own. */
function acquireAll(platform: Platform, options: PrepareOptions): Team[] {
  checkObject('options', options);
  const { engine, workers } = settle(options, platform);
  return [acquireReader(platform, false), acquire(platform, { engine, workers, extras: false })];
}

export async function prepareWorkers(platform: Platform, options: PrepareOptions = {}): Promise<void> {
  const teams = acquireAll(platform, options);
  try {
    await Promise.all(teams.map((team) => team.ready));
  } finally {
    for (const team of teams) team.release(team.coordinator.alive);
  }
}
