// One conversion: a team runs it, a route makes it a file, a signal ends it.

import { cancelled, orCancelled, toDecantError, toSinkError } from './errors.js';
import type { Converted, CrateProgress, ImageSpec } from './inside/coordinator.js';
import { settle } from './options.js';
import type { Platform } from './platform/platform.js';
import { Meter } from './progress.js';
import type { Route, TargetSpec } from './routes/route.js';
import type { Sources } from './sources.js';
import { acquire, type Team } from './team.js';
import type { ConvertOptions, Info, Output, Progress, Result } from './types.js';

/** Workers that have not stopped by then, in milliseconds, are ended. */
const STOP_TIME = 700;

let nextConversion = 0;

/** What a conversion is about. */
export interface Work {
  platform: Platform;
  sources: Sources;
  /** What to open, once it is unlocked where it has to be. */
  ready(signal: AbortSignal, report: (share: number) => void): Promise<ImageSpec>;
  /** Whether it needs zstd or encryption. */
  extras: boolean;
  info: Info;
}

export async function convertImage(work: Work, output: Output, options: ConvertOptions): Promise<Result> {
  const route = work.platform.route(output, work.sources.all, options);
  const prepared = prepare(route, work.info.virtualSize);
  try {
    return await listened(options, (settled) => convertTo(route, prepared, work, settled));
  } catch (thrown) {
    // A failure to clean up does not hide the reason for it.
    await prepared.catch(() => {});
    await route.discard().catch(() => {});
    throw toDecantError(thrown);
  }
}

async function prepare(route: Route, virtualSize: number): Promise<TargetSpec> {
  try {
    return await route.prepare(virtualSize);
  } catch (thrown) {
    throw toSinkError(thrown);
  }
}

/** A listener that throws ends the conversion, which fails with what it threw. */
async function listened(
  options: ConvertOptions,
  convert: (options: ConvertOptions & { signal: AbortSignal }) => Promise<Result>,
): Promise<Result> {
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;
  const onProgress = (progress: Progress) => {
    try {
      options.onProgress?.(progress);
    } catch (thrown) {
      failed.abort(thrown);
    }
  };
  try {
    return await convert({ ...options, signal, onProgress });
  } catch (thrown) {
    throw failed.signal.aborted ? toDecantError(failed.signal.reason, 'usage', 'report progress') : thrown;
  }
}

async function convertTo(
  route: Route,
  prepared: Promise<TargetSpec>,
  { platform, sources, ready, extras, info }: Work,
  options: ConvertOptions & { signal: AbortSignal },
): Promise<Result> {
  const { signal } = options;
  if (signal.aborted) throw cancelled();
  const settings = settle(options, platform);
  const meter = new Meter(info.virtualSize, options.onProgress);
  const image = await ready(signal, (share) => meter.unlocking(share));
  const { engine, workers } = settings;
  const team = acquire(platform, { engine, workers, extras });
  let healthy = false;
  try {
    const [target] = await orCancelled(signal, Promise.all([prepared, team.ready]));
    const { progress, lost } = await run(team, { image, target, memory: settings.memory }, meter, signal);
    await sources.verify();
    if (signal.aborted) throw cancelled();
    await commit(route);
    healthy = true;
    return {
      virtualSize: progress.guestTotal,
      bytesRead: progress.read,
      bytesWritten: progress.written,
      holeBytes: progress.guestTotal - progress.written,
      lost,
      unusedCompanions: info.unusedCompanions,
      engine,
      engineReason: settings.engineReason,
      workers,
      time: meter.end(),
    };
  } catch (thrown) {
    const error = toDecantError(thrown);
    // Something is broken there: nobody shall use it again.
    if (error.kind === 'internal') team.end(error.message);
    throw error;
  } finally {
    team.release(healthy);
    // Workers that are being ended may still write: what they write to must stay until then.
    await team.ended;
  }
}

async function commit(route: Route): Promise<void> {
  try {
    await route.commit();
  } catch (thrown) {
    throw toSinkError(thrown);
  }
}

async function run(
  team: Team,
  work: { image: ImageSpec; target: TargetSpec; memory: number },
  meter: Meter,
  signal: AbortSignal,
): Promise<Converted> {
  const { coordinator } = team;
  const id = nextConversion++;
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    coordinator.call('cancel', id).catch(() => {});
    overdue = setTimeout(() => {
      // The browser completes a file without a way to stop it: then the cancel has to wait.
      if (meter.phase !== 'finalizing') team.endUnlessShared();
    }, STOP_TIME);
  };
  coordinator.on(`progress:${id}`, (detail) => meter.update(detail as CrateProgress));
  signal.addEventListener('abort', stop);
  try {
    if (signal.aborted) throw cancelled();
    return await coordinator.call('convert', { id, ...work });
  } catch (thrown) {
    throw signal.aborted ? cancelled() : thrown;
  } finally {
    clearTimeout(overdue);
    signal.removeEventListener('abort', stop);
    coordinator.off(`progress:${id}`);
  }
}
