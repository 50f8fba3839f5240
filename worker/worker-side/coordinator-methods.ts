// The methods of a coordinator: opens images, lists and reads them, and runs their conversions.

import { type PlainError, toTargetError } from '../errors/errors.js';
import {
  type Capacity,
  type FileSpec,
  type ImageSpec,
  MEASURED,
  type SourceSpec,
  type StatedDisk,
  type TargetSpec,
} from '../messages/messages.js';
import { type Methods, Moved } from '../messages/rpc.js';
import type { Info, LostRange, Member, Notice, OutputFormat, Snapshot } from '../public/types.js';
import type { ResumePoint } from '../targets/output-target.js';
import { Dispatcher } from './dispatcher.js';
import { PartWorkers } from './part-workers.js';
import { PortSource, PortStream } from './port-source.js';
import type { CodecMethods, Report, Workers } from './wasm.js';
import type { CrateTarget, OpenTarget, WorkerHost } from './worker-host.js';

/** `Info` of the API without the name, which only the calling side knows. */
export type CrateInfo = Omit<Info, 'name'>;

/** `Extent` of the API, with the number of its file: 0 is the image, the companions follow. */
export type CrateExtent = Omit<import('../public/types.js').Extent, 'file'> & { file?: number };

export interface OpenResult {
  image: number;
  info: CrateInfo;
  formats: OutputFormat[];
  members: Member[];
  /** Whether the disk can only be read once, in order, because of its container. */
  comesInOrder: boolean;
  /** The error for a caller without room, if it is a file to be unpacked: a conversion to a raw disk stores its bytes. */
  roomNeeded: PlainError | undefined;
  /** The numbers of the companions that are parts of a file to be unpacked. */
  parts: number[];
  /** Whether the image is in a compressed file that is read in place. */
  isInPlace: boolean;
  /** The capacity that a description of a machine states for the disk in a file to be unpacked. */
  packedCapacity: Capacity | undefined;
}

/**
 * The answers to `open` without an image: for the configuration of a virtual machine, the disk to open instead; if a disk must be
 * chosen, the error for a caller that cannot choose.
 */
export type OtherAnswer = { disk: DiskOfMachine } | { choice: PlainError };

/** The disk to open of a virtual machine: the crate's `DiskOfMachine`. */
export interface DiskOfMachine {
  /** The number of its file among the companions. */
  file: number;
  /** The number of the disk among `members`. */
  number: number;
  /** The disks of the machine. */
  members: Member[];
  machine?: string;
  snapshots: Snapshot[];
  /** Whether the disk is in the state of the stated snapshot. */
  isInSnapshot: boolean;
  stated: StatedDisk;
}

interface UnlockRequest {
  operation: number;
  image: number;
  /** Wiped by the coordinator. */
  password: Uint8Array;
  assume: boolean;
}

/** The result of a conversion. */
export interface Converted {
  progress: CrateProgress;
  virtualSize: number;
  outputSize: number;
  notices: Notice[];
  lost: LostRange[];
  lostRanges: number;
  lostBytes: number;
}

/** The progress of a conversion: the crate's `Progress`. */
export interface CrateProgress {
  guestDone: number;
  /** The size of the disk; missing if it is known only at the end. */
  guestTotal?: number;
  /** The part of the disk that was finished last: start, and end (exclusive). Empty if there is none. */
  latestStart: number;
  latestEnd: number;
  dataDone: number;
  read: number;
  written: number;
  /** The resume point: the guest offset up to which everything is written, and the bytes written for it. */
  settled: number;
  settledWritten: number;
  /** Whether this is the first of two passes. */
  measuring: boolean;
  finalizing: boolean;
}

/** The result of examining the tables of an image: the crate's `Examination`. */
export interface Examined {
  notices: Notice[];
  /** Why the image cannot be converted completely. */
  damage?: Notice;
  /** Salvage: the unreadable bytes of the disk. */
  lost: number;
  /** The bytes of the disk whose tables were read. */
  checked: number;
}

interface ExamineRequest {
  operation: number;
  image: number;
  deep: boolean;
}

interface ReadRequest {
  operation: number;
  image: number;
  offset: number;
  length: number;
}

/** The output of a conversion, and how it is made. */
export interface ConvertSettings {
  /** The name of the output format. */
  format: string;
  /** The options of the output format. */
  formatOptions: Record<string, string>;
  /** The size of a streamed disk in bytes, if it was determined before. */
  diskSize: number | undefined;
  /** Whether a compressed output may read the image twice. */
  twoPass: boolean;
  /** The upper bound on the memory of all buffers, in bytes. */
  memory: number;
}

/** The settings of a conversion, and what it is written to. */
export interface TargetedSettings extends ConvertSettings {
  target: TargetSpec;
  /** The point from which to resume. */
  resumePoint: ResumePoint | undefined;
}

interface ConvertRequest extends TargetedSettings {
  operation: number;
  image: number;
  /** The ports of pool workers; of `threads`, one. */
  pool: MessagePort[];
  /** How many workers or threads decode. */
  workers: number;
}

/**
 * A coordinator's methods. Its events are `progress:OPERATION`, `unlocking:OPERATION`, `worker:OPERATION` with the number of
 * a pool worker that is needed from now on, and those of `messages.ts`.
 */
export type CoordinatorMethods = ReturnType<typeof coordinatorMethods> & CodecMethods;

interface HeldImage {
  image: Workers.OpenImage;
  spec: ImageSpec;
  /** The sources, in the order in which jobs number them. */
  sources: unknown[];
}

export function coordinatorMethods(
  host: WorkerHost,
  instantiate: (module: WebAssembly.Module) => typeof Workers,
  report: Report,
) {
  let crate: typeof Workers;
  let nextId = 0;
  const images = new Map<number, HeldImage>();
  const maps = new Map<number, { image: number; extents: Workers.Map; step: Promise<unknown> }>();
  const cancels = new Map<number, () => void>();
  const dispatchers = new Map<number, Dispatcher>();
  const partWorkers = new PartWorkers(report);
  /** Targets that are written and not yet completed or abandoned. */
  const written = new Map<number, OpenTarget>();

  function openSource(spec: SourceSpec) {
    if ('stream' in spec) return new PortStream(spec.stream);
    return 'port' in spec ? new PortSource(spec.port, spec.size, spec.expects) : host.file(spec, false);
  }

  async function openImage(spec: ImageSpec, workers: number): Promise<HeldImage | OtherAnswer> {
    const sources = specsOf(spec).map(openSource);
    const companions = spec.companions.map((companion, at) => ({ ...companion, source: sources[at + 1] }));
    const dispatch = (task: Uint8Array, part: Uint8Array<ArrayBuffer>[]) => partWorkers.run(task, part);
    const measured = (share: number) => report(MEASURED, share);
    const input = { ...spec, source: sources[0], companions };
    const opened: unknown = await crate.OpenImage.open(input, dispatch, workers, measured);
    return opened instanceof crate.OpenImage ? { image: opened, spec, sources } : (opened as OtherAnswer);
  }

  /** Runs `work` with a handle that `cancel(operation)` cancels. */
  async function cancellable<T>(operation: number, work: (cancel: Workers.CancelHandle) => Promise<T>): Promise<T> {
    const cancel = new crate.CancelHandle();
    cancels.set(operation, () => cancel.cancel());
    try {
      return await work(cancel);
    } finally {
      cancels.delete(operation);
      cancel.free();
    }
  }

  function beginMap(image: number, extents: Workers.Map): number {
    const map = nextId++;
    maps.set(map, { image, extents, step: Promise.resolve() });
    return map;
  }

  async function endMap(map: number): Promise<void> {
    const pass = maps.get(map);
    maps.delete(map);
    // The caller of the step gets its failure.
    await pass?.step.catch(() => {});
    pass?.extents.free();
  }

  return {
    startCoordinator(module: WebAssembly.Module): void {
      crate = instantiate(module);
    },

    splitFiles(names: string[]): number[][] {
      return crate.splitFiles(names) as number[][];
    },

    /** Opens an image. If it is read in place, `workers` workers decode it. */
    async open(spec: ImageSpec, workers: number): Promise<OpenResult | OtherAnswer> {
      const opened = await openImage(spec, workers);
      if (!('image' in opened)) return opened;
      const { image: crateImage } = opened;
      try {
        const info = crateImage.info() as CrateInfo;
        const image = nextId++;
        images.set(image, opened);
        const formats = crateImage.formats() as OutputFormat[];
        const members = crateImage.members() as Member[];
        const [comesInOrder, isInPlace] = [crateImage.comesInOrder(), crateImage.isInPlace()];
        const roomNeeded = crateImage.roomNeeded() as PlainError | undefined;
        const parts = Array.from(crateImage.parts());
        const packedCapacity = crateImage.packedCapacity() as Capacity | undefined;
        return { image, info, formats, members, comesInOrder, roomNeeded, parts, isInPlace, packedCapacity };
      } catch (thrown) {
        // The wasm must not be called after a trap.
        if (!(thrown instanceof WebAssembly.RuntimeError)) crateImage.free();
        throw thrown;
      }
    },

    /** Lends the workers with these ports, for parts of a compressed file. */
    lendParts(number: number, ports: MessagePort[]): void {
      partWorkers.lend(number, ports);
    },

    /** Reports that the workers of a loan have ended, or are not lent: what needs them fails with `internal` and `sentence`. */
    endParts(number: number, sentence: string): void {
      partWorkers.end(number, sentence);
    },

    async close(image: number): Promise<void> {
      const open = [...maps].filter(([_, pass]) => pass.image === image);
      await Promise.all(open.map(([map]) => endMap(map)));
      images.get(image)?.image.free();
      images.delete(image);
    },

    /** Unlocks the first locked layer. Resolves to the remaining needs of the image. */
    async unlock({ operation, image, password, assume }: UnlockRequest): Promise<Info['needs']> {
      const { image: crateImage } = images.get(image)!;
      const progress = (share: number) => report(`unlocking:${operation}`, share);
      try {
        await cancellable(operation, (cancel) => crateImage.unlock(password, assume, progress, cancel));
        return (crateImage.info() as CrateInfo).needs;
      } finally {
        password.fill(0);
      }
    },

    /** Describes an output format with the options in `formatOptions`. `diskSize`: of a streamed disk, if it was determined. */
    output(image: number, format: string, formatOptions: Record<string, string>, diskSize?: number): OutputFormat {
      return images.get(image)!.image.output(format, formatOptions, diskSize) as OutputFormat;
    },

    map(image: number): number {
      return beginMap(image, images.get(image)!.image.map());
    },

    /** Starts a map of the extents, also of a locked image. */
    layout(image: number): number {
      return beginMap(image, images.get(image)!.image.layout());
    },

    async nextExtents(operation: number, map: number): Promise<CrateExtent[] | undefined> {
      const pass = maps.get(map)!;
      pass.step = cancellable(operation, (cancel) => pass.extents.next(cancel));
      return (await pass.step) as CrateExtent[] | undefined;
    },

    /** Ends a map. A step under way is completed first. */
    async endMap(map: number): Promise<void> {
      await endMap(map);
    },

    /** Examines the tables. Resolves to undefined for a streamed image. */
    async examine({ operation, image, deep }: ExamineRequest): Promise<Examined | undefined> {
      const { image: crateImage } = images.get(image)!;
      return cancellable(operation, (cancel) => crateImage.examine(deep, cancel));
    },

    /** The size of a streamed disk in bytes, if its container states it. */
    async statedSize(operation: number, image: number): Promise<number | undefined> {
      const { image: crateImage } = images.get(image)!;
      return cancellable(operation, (cancel) => crateImage.statedSize(cancel));
    },

    /** Reads a range of the disk. */
    async read({ operation, image, offset, length }: ReadRequest): Promise<Moved<Uint8Array<ArrayBuffer>>> {
      const { image: crateImage } = images.get(image)!;
      const bytes = await cancellable(operation, (cancel) => crateImage.read(offset, length, cancel));
      return new Moved(bytes as Uint8Array<ArrayBuffer>, [bytes.buffer as ArrayBuffer]);
    },

    async convert({
      operation,
      image,
      pool,
      workers,
      format,
      formatOptions,
      diskSize,
      twoPass,
      target: targetSpec,
      memory,
      resumePoint,
    }: ConvertRequest): Promise<Converted> {
      const { image: crateImage, spec, sources } = images.get(image)!;
      const begin = (at: number) => report(`worker:${operation}`, at);
      const dispatcher = new Dispatcher(pool, sources, begin);
      dispatchers.set(operation, dispatcher);
      const work = async (cancel: Workers.CancelHandle) => {
        const place = await host.openTarget(targetSpec).catch(failTarget);
        try {
          const specs = specsOf(spec);
          const files = Array.from(crateImage.opened(), (at) => (at < 0 ? undefined : fileOf(specs[at]!)));
          const keys = crateImage.keys();
          dispatcher.attachment = { files, keys, target: place.shared ? targetSpec : undefined };
          const progress = (detail: CrateProgress) => {
            place.journal?.settled({ guest: detail.settled, written: detail.settledWritten });
            report(`progress:${operation}`, detail);
          };
          const random = crypto.getRandomValues(new Uint8Array(16));
          const output = {
            format,
            formatOptions,
            diskSize,
            twoPass,
            seconds: Date.now() / 1000,
            random,
            begun: resumePoint?.guest ?? 0,
            begunWritten: resumePoint?.written ?? 0,
          };
          const dispatch = (job: Uint8Array, reads: []) => dispatcher.run(job, reads);
          const { target } = place;
          // Where workers write by themselves, jobs may end in any order.
          const { rows } = dispatcher;
          if (place.shared && !crateImage.comesInOrder() && pool.length === workers) rows.length = host.jobsInRow;
          const ahead = (rows.length - 1) * workers;
          const converted = await crateImage.convert(
            dispatch,
            workers,
            memory,
            ahead,
            output,
            target,
            progress,
            cancel,
          );
          await place.journal?.end(false);
          written.set(operation, place);
          return converted as Converted;
        } catch (thrown) {
          // The crate may have aborted the target already, which is harmless. The first failure counts.
          await abort(place.target).catch(() => {});
          // The system reports a failed write only once: after it, a flush proves nothing.
          await place.journal?.end((thrown as { kind?: string }).kind !== 'target').catch(() => {});
          throw thrown;
        }
      };
      try {
        return await cancellable(operation, work);
      } catch (thrown) {
        // `poolEnded` cancelled the conversion for this reason.
        throw dispatcher.failure ?? thrown;
      } finally {
        dispatchers.delete(operation);
        dispatcher.end();
      }
    },

    /**
     * Reports that the workers of a conversion have ended: it fails with `internal` and `sentence`. Its reads are cancelled,
     * those of tables too, since a custom source may never answer them.
     */
    poolEnded(operation: number, sentence: string): void {
      dispatchers.get(operation)?.fail(sentence);
      cancels.get(operation)?.();
    },

    /** Completes the output. Called after a successful `convert`, unless `abandon` is called. */
    async complete(operation: number): Promise<void> {
      const target = written.get(operation);
      written.delete(operation);
      await target?.complete?.().catch(failTarget);
    },

    /** Discards the written output. */
    async abandon(operation: number): Promise<void> {
      const target = written.get(operation);
      written.delete(operation);
      await target?.abandon?.();
    },

    async tryLength(name: string, size: number): Promise<boolean> {
      return host.tryLength!(name, size);
    },

    /** Cancels an operation, which then fails with `cancelled`. */
    cancel(operation: number): void {
      cancels.get(operation)?.();
    },
  } satisfies Methods;
}

/** The file of a source, if workers can open it by themselves. */
const fileOf = (source: SourceSpec): FileSpec | undefined =>
  'port' in source || 'stream' in source ? undefined : source;

/** The image first, then its companions. */
const specsOf = ({ source, companions }: ImageSpec): SourceSpec[] => [
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
