// One conversion: a team runs it, a route makes it a file, a signal ends it.

import { cancelled, orCancelled, toDecantError } from './errors.js';
import type { ImageSpec } from './inside/coordinator.js';
import { settle } from './options.js';
import type { OpenedSource, Platform } from './platform/platform.js';
import { Meter } from './progress.js';
import type { Route, TargetSpec } from './routes/route.js';
import { acquire, type Team } from './team.js';
import type { ConvertOptions, Output, Result } from './types.js';

/** Workers that have not stopped by then, in milliseconds, are ended. */
const STOP_TIME = 700;

let nextConversion = 0;

export async function convertImage(
  platform: Platform,
  source: OpenedSource,
  image: ImageSpec,
  virtualSize: number,
  output: Output,
  options: ConvertOptions,
): Promise<Result> {
  const { signal } = options;
  if (signal?.aborted) throw cancelled();
  const settings = settle(options, platform);
  const route = platform.route(output, source, options);
  const meter = new Meter(options.onProgress);
  const team = acquire(platform, settings.engine, settings.workers);
  const prepared = route.prepare(virtualSize);
  let healthy = false;
  try {
    const [target] = await orCancelled(signal, Promise.all([prepared, team.ready]));
    const done = await run(team, { image, target, memory: settings.memory }, meter, signal);
    await source.verify();
    await route.commit();
    meter.end();
    healthy = true;
    return {
      virtualSize: done.guestTotal,
      bytesRead: done.read,
      bytesWritten: done.written,
      holeBytes: done.guestTotal - done.written,
      engine: settings.engine,
      engineReason: settings.engineReason,
      workers: settings.workers,
      time: meter.time,
    };
  } catch (thrown) {
    const error = toDecantError(thrown);
    // Something is broken there: nobody shall use it again.
    if (error.kind === 'internal') team.end(error.message);
    await discard(route, prepared);
    throw error;
  } finally {
    team.release(healthy);
  }
}

/** A failure to clean up does not hide the reason for it. */
async function discard(route: Route, prepared: Promise<unknown>): Promise<void> {
  await prepared.catch(() => {});
  await route.discard().catch(() => {});
}

async function run(
  team: Team,
  work: { image: ImageSpec; target: TargetSpec; memory: number },
  meter: Meter,
  signal: AbortSignal | undefined,
) {
  const { coordinator } = team;
  const id = nextConversion++;
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    coordinator.call('cancel', id).catch(() => {});
    // The browser completes a file without a way to stop it: then the cancel has to wait.
    if (meter.phase !== 'finalizing') overdue = setTimeout(() => team.end(), STOP_TIME);
  };
  coordinator.on(`progress:${id}`, (detail) => meter.update(detail as Parameters<Meter['update']>[0]));
  signal?.addEventListener('abort', stop);
  try {
    if (signal?.aborted) throw cancelled();
    return await coordinator.call('convert', { id, ...work });
  } catch (thrown) {
    throw signal?.aborted ? cancelled() : thrown;
  } finally {
    clearTimeout(overdue);
    signal?.removeEventListener('abort', stop);
    coordinator.off(`progress:${id}`);
  }
}
