// The conversions that a coordinator runs: their jobs go to pool workers, and their output to a target.

import { toTargetError } from '../errors/errors.js';
import type { Converted, ConvertRequest, CrateProgress, NeededWorker } from '../messages/coordinator.js';
import type { FileSpec, ImageSpec, SourceSpec } from '../messages/messages.js';
import { DiskHasher } from './disk-hasher.js';
import { Dispatcher } from './dispatcher.js';
import type { Report, Workers } from './wasm.js';
import type { CrateTarget, OpenTarget, WorkerHost } from './worker-host.js';

/** An image that a coordinator has open. */
export interface HeldImage {
  image: Workers.OpenImage;
  spec: ImageSpec;
  /** The sources, in the order in which jobs number them. */
  sources: unknown[];
}

/** The conversions of one coordinator, by their operations. */
export class Conversions {
  readonly #dispatchers = new Map<number, Dispatcher[]>();
  /** Targets that are written and not yet completed or abandoned. */
  readonly #written = new Map<number, OpenTarget>();

  constructor(
    private readonly host: WorkerHost,
    private readonly report: Report,
    /** Loads the wasm of hashes. */
    private readonly loadCrypt: () => Promise<Uint8Array>,
  ) {}

  /**
   * Writes the output: a disk of each image, in the conversion that `crate` runs. `complete` or `abandon` must follow.
   */
  async convert(
    crate: Workers.Conversion,
    images: HeldImage[],
    request: ConvertRequest,
    cancel: Workers.CancelHandle,
  ): Promise<Converted> {
    const { operation, disks } = request;
    const dispatchers = images.map(({ sources }, disk) => {
      const needed = (at: number) => this.report(`worker:${operation}`, { disk, at } satisfies NeededWorker);
      return new Dispatcher(disks[disk]!.pool, sources, needed);
    });
    this.#dispatchers.set(operation, dispatchers);
    try {
      return await this.#write(crate, images, request, dispatchers, cancel);
    } catch (thrown) {
      // `fail` was called, and the conversion cancelled for this reason.
      throw dispatchers[0]!.failure ?? thrown;
    } finally {
      this.#dispatchers.delete(operation);
      for (const dispatcher of dispatchers) dispatcher.end();
    }
  }

  /** Lets the jobs of a conversion fail with `internal` and `sentence`. */
  fail(operation: number, sentence: string): void {
    for (const dispatcher of this.#dispatchers.get(operation) ?? []) dispatcher.fail(sentence);
  }

  async complete(operation: number): Promise<void> {
    await this.#take(operation)?.complete?.().catch(failTarget);
  }

  async abandon(operation: number): Promise<void> {
    await this.#take(operation)?.abandon?.();
  }

  #take(operation: number): OpenTarget | undefined {
    const written = this.#written.get(operation);
    this.#written.delete(operation);
    return written;
  }

  async #write(
    crate: Workers.Conversion,
    images: HeldImage[],
    request: ConvertRequest,
    dispatchers: Dispatcher[],
    cancel: Workers.CancelHandle,
  ): Promise<Converted> {
    const { operation, disks, workers, memory, digest } = request;
    const hasher = digest === 'sha256' ? new DiskHasher(await this.host.sha256(this.loadCrypt)) : undefined;
    const opened = await this.host.openTarget(request.target).catch(failTarget);
    const { target, shared, journal } = opened;
    try {
      for (const [at, { image, spec }] of images.entries()) {
        const dispatcher = dispatchers[at]!;
        const { pool, diskSize } = disks[at]!;
        const specs = specsOf(spec);
        const files = Array.from(image.opened(), (at) => (at < 0 ? undefined : fileOf(specs[at]!)));
        // Rewritten ranges of the disk are a file, too, whose bytes travel with the jobs.
        dispatcher.attachment = {
          files: [...files, undefined],
          keys: image.keys(),
          target: shared ? request.target : undefined,
        };
        const dispatch = (job: Uint8Array, reads: []) => dispatcher.run(job, reads);
        // Where workers write by themselves, jobs may end in any order.
        const { rows } = dispatcher;
        if (shared && !image.comesInOrder() && pool.length === workers) rows.length = this.host.jobsInRow;
        crate.add(image, dispatch, (rows.length - 1) * workers, diskSize);
      }
      const progress = (detail: CrateProgress) => {
        journal?.settled({ guest: detail.settled, written: detail.settledWritten });
        this.report(`progress:${operation}`, detail);
      };
      const converted = await crate.run(workers, memory, outputOf(request), target, hasher, progress, cancel);
      await journal?.end(false);
      this.#written.set(operation, opened);
      return converted as Converted;
    } catch (thrown) {
      // The crate may have aborted the target already, which is harmless. The first failure counts.
      await abort(target).catch(() => {});
      // The system reports a failed write only once: after it, a flush proves nothing.
      await journal?.end((thrown as { kind?: string }).kind !== 'target').catch(() => {});
      throw thrown;
    }
  }
}

/** The output as the crate takes it. */
const outputOf = ({ format, formatOptions, size, fixGpt, twoPass, resumePoint, digest }: ConvertRequest) => ({
  format,
  formatOptions,
  size,
  fixGpt,
  twoPass,
  treeDigest: digest === 'tree',
  seconds: Date.now() / 1000,
  random: crypto.getRandomValues(new Uint8Array(16)),
  begun: resumePoint?.guest ?? 0,
  begunWritten: resumePoint?.written ?? 0,
});

/** The file of a source, if workers can open it by themselves. */
const fileOf = (source: SourceSpec): FileSpec | undefined =>
  'port' in source || 'stream' in source ? undefined : source;

/** The image first, then its companions. */
export const specsOf = ({ source, companions }: ImageSpec): SourceSpec[] => [
  source,
  ...companions.map((companion) => companion.source),
];

/** Discards the written output. */
async function abort(target: CrateTarget): Promise<void> {
  if ('object' in target) await target.object.abort();
  else if ('handle' in target) target.handle.close();
  else await target.writable.abort();
}

function failTarget(thrown: unknown): never {
  throw toTargetError(thrown);
}
