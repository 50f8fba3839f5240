// A coordinator: opens images, lists them, and runs conversions with its pool.

import { toSinkError } from '../errors.js';
import type { SourceSpec, Variant } from '../platform/platform.js';
import type { TargetSpec } from '../routes/route.js';
import { Client, type Methods, serve } from '../rpc.js';
import type { Info, LostRange, Notice } from '../types.js';
import type { Host } from './host.js';
import type { PoolMethods } from './pool.js';
import {
  type Crate,
  instantiate,
  instantiateThreads,
  isThreads,
  type Plain,
  type Threads,
  type Unlockable,
} from './wasm.js';

/** What to be: a build with its pool, or a reader of metadata, which has none. */
export interface Role {
  variant: Variant;
  workers: number;
}

export interface ImageSpec {
  source: SourceSpec;
  format?: string | undefined;
  name?: string | undefined;
  companions: CompanionSpec[];
  snapshot?: string | undefined;
  salvage: boolean;
  /** What unlocking has found. */
  keys?: Uint8Array | undefined;
}

export interface CompanionSpec {
  source: SourceSpec;
  name: string;
  /** The name under which an image refers to it, where the caller states that. */
  standsFor?: string | undefined;
  isImage: boolean;
}

/** `Info` of the API, without what only the caller knows. */
export type CrateInfo = Omit<Info, 'name'>;

/** `Extent` of the API, with the number of its file: 0 is the image, the companions follow. */
export type CrateExtent = Omit<import('../types.js').Extent, 'file'> & { file?: number };

export interface Unlocking {
  id: number;
  image: ImageSpec;
  password: Uint8Array;
  assume: boolean;
}

/** What came of a conversion. */
export interface Converted {
  progress: CrateProgress;
  lost: LostRange[];
}

/** How far a conversion has come; the crate's `Progress`. */
export interface CrateProgress {
  guestDone: number;
  guestTotal: number;
  dataDone: number;
  read: number;
  written: number;
  finalizing: boolean;
}

export interface Conversion {
  id: number;
  image: ImageSpec;
  target: TargetSpec;
  memory: number;
}

/** A coordinator's methods; its events are `progress:ID`, `unlocking:ID`, and `died` when a thread of the pool has failed. */
export type CoordinatorMethods = ReturnType<typeof coordinatorMethods>;

function coordinatorMethods(host: Host, report: (event: string, detail: unknown) => void) {
  let role: Role;
  let crate: Crate;
  let pool: Client<PoolMethods>[] = [];
  let nextId = 0;
  const images = new Map<number, Plain.OpenImage | Threads.OpenImage>();
  const maps = new Map<number, Plain.Map | Threads.Map>();
  const cancels = new Map<number, Plain.CancelHandle | Threads.CancelHandle>();

  const openImage = (spec: ImageSpec) =>
    crate.OpenImage.open({
      ...spec,
      source: host.source(spec.source),
      companions: spec.companions.map((companion) => ({ ...companion, source: host.source(companion.source) })),
    });

  /** The pool worker with the fewest jobs gets the next one. */
  function dispatcher(id: number): (job: Uint8Array) => Promise<unknown> {
    const jobs = pool.map(() => 0);
    return async (job) => {
      const at = jobs.indexOf(Math.min(...jobs));
      jobs[at]! += 1;
      try {
        return await pool[at]!.call('run', id, job);
      } finally {
        jobs[at]! -= 1;
      }
    };
  }

  return {
    /** Loads all scripts; `start` follows. */
    spawn(given: Role): void {
      role = given;
      // A failure is told by `start`.
      host.glue(role.variant).catch(() => {});
      if (isThreads(role.variant)) return;
      pool = Array.from({ length: role.workers }, () => new Client<PoolMethods>(host.spawnPoolWorker()));
      // One that is dead fails its start.
      for (const worker of pool) worker.call('spawn', role.variant).catch(() => {});
    },

    async start(module: WebAssembly.Module): Promise<void> {
      const { variant, workers } = role;
      if (isThreads(variant)) {
        crate = await instantiateThreads(await host.glue(variant), module, workers, (reason) => report('died', reason));
        return;
      }
      const started = Promise.all(pool.map((worker) => worker.call('start', module)));
      // One that fails at once is told below.
      started.catch(() => {});
      crate = instantiate(await host.glue(variant), module);
      await started;
    },

    async open(spec: ImageSpec): Promise<{ image: number; info: CrateInfo; extras: boolean }> {
      const opened = await openImage(spec);
      const info = opened.info() as CrateInfo;
      info.safety.push(...((await opened.survey()) as Notice[]));
      const image = nextId++;
      images.set(image, opened);
      return { image, info, extras: opened.needsExtras() };
    },

    /** Finds the keys of an encrypted image. */
    async unlock({ id, image: spec, password, assume }: Unlocking): Promise<Uint8Array> {
      const cancel = new crate.CancelHandle();
      cancels.set(id, cancel);
      let image: Unlockable | undefined;
      try {
        image = (await openImage(spec)) as Unlockable;
        return await image.unlock(password, assume, (share: number) => report(`unlocking:${id}`, share), cancel);
      } finally {
        password.fill(0);
        cancels.delete(id);
        cancel.free();
        image?.free();
      }
    },

    close(image: number): void {
      images.get(image)?.free();
      images.delete(image);
    },

    map(image: number): number {
      const map = nextId++;
      maps.set(map, images.get(image)!.map());
      return map;
    },

    async nextExtents(map: number): Promise<CrateExtent[] | undefined> {
      return (await maps.get(map)!.next()) as CrateExtent[] | undefined;
    },

    endMap(map: number): void {
      maps.get(map)?.free();
      maps.delete(map);
    },

    async convert({ id, image: spec, target: targetSpec, memory }: Conversion): Promise<Converted> {
      const poolWorkers = pool.length > 0;
      const cancel = new crate.CancelHandle();
      cancels.set(id, cancel);
      let image: Awaited<ReturnType<typeof openImage>> | undefined;
      try {
        image = await openImage(spec);
        const target = await host.openTarget(targetSpec, poolWorkers).catch((thrown) => {
          throw toSinkError(thrown);
        });
        const sources = [spec.source, ...spec.companions.map(({ source }) => source)];
        const attachment = { sources, keys: spec.keys, target: target.shared ? targetSpec : undefined };
        // One that is dead fails its first job.
        for (const worker of pool) worker.call('attach', id, attachment).catch(() => {});
        const progress = (detail: CrateProgress) => report(`progress:${id}`, detail);
        const dispatch = poolWorkers ? dispatcher(id) : undefined;
        return (await image.convert(dispatch, pool.length, memory, target.sink, progress, cancel)) as Converted;
      } finally {
        // Also after a failure: a file cannot be removed while a worker has it open.
        await Promise.allSettled(pool.map((worker) => worker.call('detach', id)));
        spec.keys?.fill(0);
        cancels.delete(id);
        cancel.free();
        image?.free();
      }
    },

    cancel(id: number): void {
      cancels.get(id)?.cancel();
    },
  } satisfies Methods;
}

export function serveCoordinator(host: Host): void {
  const report = serve(
    host.port,
    coordinatorMethods(host, (event, detail) => report(event, detail)),
  );
}
