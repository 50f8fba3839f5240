// The methods of a coordinator: opens images, lists and reads them, and runs their conversions.

import type { PlainError } from '../errors/errors.js';
import type {
  CompareRequest,
  Converted,
  ConvertRequest,
  CrateCompared,
  CrateExtent,
  CrateInfo,
  Examined,
  ExamineRequest,
  MeasureRequest,
  OpenResult,
  OtherAnswer,
  ReadRequest,
  UnlockRequest,
} from '../messages/coordinator.js';
import { type Capacity, type ImageSpec, MEASURED, type SourceSpec } from '../messages/messages.js';
import { type Methods, Moved } from '../messages/rpc.js';
import type { DiskMember, FileCheck, Info, MeasureResult, OutputFormat } from '../public/types.js';
import { Conversions, type HeldImage, specsOf } from './conversions.js';
import { PartWorkers } from './dispatcher.js';
import { poolMethods } from './pool-methods.js';
import { PortSource, PortStream } from './port-source.js';
import { type CodecMethods, instantiate, type Report, serveWithCodecs, type Workers } from './wasm.js';
import type { WorkerHost } from './worker-host.js';

/**
 * A coordinator's methods. Its events are `progress:OPERATION`, `unlocking:OPERATION`, `checking:OPERATION`, `worker:OPERATION` with a
 * `NeededWorker`, and those of `messages.ts`.
 */
export type CoordinatorMethods = ReturnType<typeof coordinatorMethods> & CodecMethods;

function coordinatorMethods(
  host: WorkerHost,
  instantiate: (module: WebAssembly.Module) => typeof Workers,
  report: Report,
  loadCrypt: () => Promise<Uint8Array>,
) {
  let crate: typeof Workers;
  let nextId = 0;
  const images = new Map<number, HeldImage>();
  const maps = new Map<number, { image: number; extents: Workers.Map; step: Promise<unknown> }>();
  const cancels = new Map<number, () => void>();
  const conversions = new Conversions(host, report, loadCrypt);
  const partWorkers = new PartWorkers(report);

  const imageOf = (image: number) => images.get(image)!.image;

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

  /** Ends a map. A step under way is completed first. */
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
        const members = crateImage.members() as DiskMember[];
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
      const crateImage = imageOf(image);
      const progress = (share: number) => report(`unlocking:${operation}`, share);
      try {
        await cancellable(operation, (cancel) => crateImage.unlock(password, assume, progress, cancel));
        return (crateImage.info() as CrateInfo).needs;
      } finally {
        password.fill(0);
      }
    },

    /**
     * Describes an output format with the options in `formatOptions`. `diskSize`: of a streamed disk, if it was determined; `more`: the
     * sizes of further disks.
     */
    output(
      image: number,
      format: string,
      formatOptions: Record<string, string>,
      diskSize: number | undefined,
      more: number[],
    ): OutputFormat {
      const sizes = Float64Array.from(more);
      return imageOf(image).output(format, formatOptions, diskSize, sizes) as OutputFormat;
    },

    map(image: number): number {
      return beginMap(image, imageOf(image).map());
    },

    /** Starts a map of the extents, also of a locked image. */
    layout(image: number): number {
      return beginMap(image, imageOf(image).layout());
    },

    async nextExtents(operation: number, map: number): Promise<CrateExtent[] | undefined> {
      const pass = maps.get(map)!;
      pass.step = cancellable(operation, (cancel) => pass.extents.next(cancel));
      return (await pass.step) as CrateExtent[] | undefined;
    },

    endMap,

    /** Examines the tables. Resolves to undefined for a streamed image. */
    async examine({ operation, image, deep }: ExamineRequest): Promise<Examined | undefined> {
      return cancellable(operation, (cancel) => imageOf(image).examine(deep, cancel));
    },

    /** Compares two disks. Its events are `compared:OPERATION` and `differing:OPERATION`. */
    async compare(request: CompareRequest): Promise<CrateCompared> {
      const opened = request.disks.map(({ image }) => images.get(image)!);
      return cancellable(request.operation, (cancel) =>
        conversions.compare(crate.compareDisks, opened, request, cancel),
      );
    },

    /** Measures an output from the tables of the image. */
    async measure({ operation, image, format, formatOptions, size }: MeasureRequest): Promise<MeasureResult> {
      return cancellable(operation, (cancel) => imageOf(image).measure(format, formatOptions, size, cancel));
    },

    /** Checks the structures of the image's file, and reports `checking:OPERATION`. Resolves to undefined for a streamed image. */
    async checkFile(operation: number, image: number): Promise<FileCheck | undefined> {
      const progress = (share: number) => report(`checking:${operation}`, share);
      return cancellable(operation, (cancel) => imageOf(image).checkFile(progress, cancel));
    },

    /** The size of a streamed disk in bytes, if its container states it. */
    async statedSize(operation: number, image: number): Promise<number | undefined> {
      return cancellable(operation, (cancel) => imageOf(image).statedSize(cancel));
    },

    /** Reads a range of the disk. */
    async read({ operation, image, offset, length }: ReadRequest): Promise<Moved<Uint8Array<ArrayBuffer>>> {
      const bytes = await cancellable(operation, (cancel) => imageOf(image).read(offset, length, cancel));
      return new Moved(bytes as Uint8Array<ArrayBuffer>, [bytes.buffer as ArrayBuffer]);
    },

    async convert(request: ConvertRequest): Promise<Converted> {
      const opened = request.disks.map(({ image }) => images.get(image)!);
      return cancellable(request.operation, (cancel) =>
        conversions.convert(new crate.Conversion(), opened, request, cancel),
      );
    },

    /**
     * Reports that the workers of a conversion have ended: it fails with `internal` and `sentence`. Its reads are cancelled,
     * those of tables too, since a custom source may never answer them.
     */
    poolEnded(operation: number, sentence: string): void {
      conversions.fail(operation, sentence);
      cancels.get(operation)?.();
    },

    /** Completes the output. Called after a successful `convert`, unless `abandon` is called. */
    complete: (operation: number): Promise<void> => conversions.complete(operation),

    /** Discards the written output. */
    abandon: (operation: number): Promise<void> => conversions.abandon(operation),

    async tryLength(name: string, size: number): Promise<boolean> {
      return host.tryLength!(name, size);
    },

    /** Cancels an operation, which then fails with `cancelled`. */
    cancel(operation: number): void {
      cancels.get(operation)?.();
    },
  } satisfies Methods;
}

/** Serves a worker of the `workers` engine, which becomes a coordinator or a pool worker by its first call. */
export function serveWorker(host: WorkerHost, glue: typeof Workers): void {
  serveWithCodecs(host.port, (codecs, report) => ({
    ...coordinatorMethods(
      host,
      (module) => instantiate(glue, module, codecs),
      report,
      () => codecs.load('crypt'),
    ),
    ...poolMethods(host, glue, codecs),
  }));
}
