// The conversions that a coordinator runs: their jobs go to pool workers, and their output to a target.

import { toTargetError } from '../errors/errors.js';
import type {
  CompareRequest,
  ComparisonDone,
  Converted,
  ConvertRequest,
  CrateCompared,
  CrateProgress,
  NeededWorker,
} from '../messages/coordinator.js';
import type { FileSpec, ImageSpec, SourceSpec } from '../messages/messages.js';
import { DiskHasher } from './disk-hasher.js';
import { Dispatcher } from './dispatcher.js';
import type { Report, Workers } from './wasm.js';
import type { CrateTarget, OpenTarget, WorkerHost } from './worker-host.js';

/** The limits of a conversion without a journal. */
const UNLIMITED = { mostUnsaved: Number.POSITIVE_INFINITY, mostMemory: Number.POSITIVE_INFINITY };

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
    return this.#dispatching(images, request, (dispatchers) =>
      this.#write(crate, images, request, dispatchers, cancel),
    );
  }

  /** Compares the disks of two images. `compareDisks` is that of the crate. */
  async compare(
    compareDisks: typeof Workers.compareDisks,
    images: HeldImage[],
    request: CompareRequest,
    cancel: Workers.CancelHandle,
  ): Promise<CrateCompared> {
    const { operation, workers, memory, strict, firstOnly, shared, reportsRanges } = request;
    const [one, other] = images as [HeldImage, HeldImage];
    return this.#dispatching(images, request, async (dispatchers) => {
      const dispatch = dispatchers.map((dispatcher, at) => {
        dispatcher.attachment = { ...accessTo(images[at]!), target: undefined };
        return (job: Uint8Array, reads: []) => dispatcher.run(job, reads);
      });
      const spec = {
        ...{ dispatch, workers, memory, strict, firstOnly },
        shared: Uint16Array.from(shared.flat()),
        seed: crypto.getRandomValues(new Uint8Array(8)),
        progress: (done: number, offset?: number) =>
          this.report(`compared:${operation}`, { done, offset } satisfies ComparisonDone),
        differ: reportsRanges ? (ranges: Float64Array) => this.report(`differing:${operation}`, ranges) : undefined,
      };
      return (await compareDisks(one.image, other.image, spec, cancel)) as CrateCompared;
    });
  }

  /** Runs `work` with a dispatcher for the jobs of each image. */
  async #dispatching<T>(
    images: HeldImage[],
    { operation, disks }: Pick<ConvertRequest, 'operation' | 'disks'>,
    work: (dispatchers: Dispatcher[]) => Promise<T>,
  ): Promise<T> {
    const dispatchers = images.map(({ sources }, disk) => {
      const needed = (at: number) => this.report(`worker:${operation}`, { disk, at } satisfies NeededWorker);
      return new Dispatcher(disks[disk]!.pool, sources, needed);
    });
    this.#dispatchers.set(operation, dispatchers);
    try {
      return await work(dispatchers);
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
    const { operation, disks, workers, digest } = request;
    const hasher = digest === 'sha256' ? new DiskHasher(await this.host.sha256(this.loadCrypt)) : undefined;
    const targetSpec = request.target;
    const opened = targetSpec && (await this.host.openTarget(targetSpec).catch(failTarget));
    const { target, shared = false, journal } = opened ?? {};
    const { mostUnsaved, mostMemory } = journal ?? UNLIMITED;
    const memory = Math.min(request.memory, mostMemory);
    try {
      for (const [at, held] of images.entries()) {
        const { image } = held;
        const dispatcher = dispatchers[at]!;
        const { pool, diskSize, ranges } = disks[at]!;
        dispatcher.attachment = { ...accessTo(held), target: shared ? targetSpec : undefined };
        const dispatch = (job: Uint8Array, reads: []) => {
          const run = () => dispatcher.run(job, reads);
          return journal ? journal.run(run) : run();
        };
        // Where workers write by themselves, jobs may end in any order. A job has a quarter of the memory of its worker, so those that
        // wait in rows have a quarter of `mostUnsaved` together.
        const { rows } = dispatcher;
        if (shared && !image.comesInOrder() && pool.length === workers)
          rows.length = Math.min(this.host.jobsInRow, 1 + Math.floor(mostUnsaved / memory));
        crate.add(image, dispatch, (rows.length - 1) * workers, diskSize, ranges);
      }
      const progress = (detail: CrateProgress) => {
        journal?.settled(detail.settled, detail.guestDone);
        this.report(`progress:${operation}`, detail);
      };
      const converted = await crate.run(workers, memory, outputOf(request), target, hasher, progress, cancel);
      await journal?.end(false);
      if (opened) this.#written.set(operation, opened);
      return converted as Converted;
    } catch (thrown) {
      // The crate may have aborted the target already, which is harmless. The first failure counts.
      if (target) await abort(target).catch(() => {});
      // The system reports a failed write only once: after it, a flush proves nothing.
      await journal?.end((thrown as { kind?: string }).kind !== 'target').catch(() => {});
      throw thrown;
    }
  }
}

/** The output as the crate takes it. */
const outputOf = ({ format, formatOptions, size, fixGpt, twoPass, resumePoint, digest, seed }: ConvertRequest) => ({
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
  seed,
});

/** The files and keys with which workers run jobs of the image. */
function accessTo({ image, spec }: HeldImage) {
  const specs = specsOf(spec);
  const files = Array.from(image.opened(), (at) => (at < 0 ? undefined : fileOf(specs[at]!)));
  // Rewritten ranges of the disk are a file, too, whose bytes travel with the jobs.
  return { files: [...files, undefined], keys: image.keys() };
}

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
