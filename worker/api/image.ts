// The `DiskImage` and `StreamedImage` of the API.

import type { ImageSession, ImageSetup } from '../client-side/image-session.js';
import type { ImageSessions } from '../client-side/image-sessions.js';
import { checkReadable } from '../errors/argument-checks.js';
import { cancelled, DecantError, orCancelled, toDecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { anyOf, withListener } from '../errors/signals.js';
import { frozen } from '../errors/values.js';
import type { CrateExtent } from '../messages/coordinator.js';
import type { ConvertOptions, Output, SettledOptions } from '../public/caller-types.js';
import type {
  AnyInfo,
  Bytes,
  CheckOptions,
  CheckResult,
  CompareOptions,
  CompareResult,
  ConvertResult,
  DigestOptions,
  DiskDigest,
  DiskMember,
  Extent,
  FileCheck,
  ImageBase,
  ImagePlace,
  MapOptions,
  MeasureOptions,
  MeasureResult,
  Notice,
  OutputFormat,
  ReadableOptions,
  ReadOptions,
  SavedProgress,
  TreeDigest,
  UnlockOptions,
} from '../public/types.js';
import { abandonOutput } from '../targets/custom-output.js';
import type { Spool } from '../targets/output-target.js';
import { abandoned, convertImage, savedProgressOf } from './conversion.js';
import type { ConversionContext } from './conversion-disks.js';
import { describesMachine, withHardware } from './machine-hardware.js';
import {
  checkCall,
  checkConversion,
  checkFileOptions,
  checkSpooled,
  settleFormatOptions,
  settleSize,
} from './options.js';
import { loadPlaces } from './output-format.js';
import type { Platform } from './platform.js';
import { checkRange, READING, readRange, requireWhole, streamOf } from './reading.js';
import type { Unpacked } from './unpacking.js';
import { withProgress } from './whole-progress.js';

/** The operations, for messages: "... was cancelled". */
const MAPPING = 'Reading the map';
const COMPARING = 'Comparing the disks';
const MEASURING = 'Measuring the output';
const CHECKING = 'Checking the image';
const DIGESTING = 'Computing the digest';
const LOOKING = 'Looking for saved progress';

/** The `memory` of a conversion of an image that is read in place by default, in bytes: its blocks take memory, too. */
const MEMORY_IN_PLACE = 32 << 20;

/** Loads the code for comparisons. */
const loadComparisons = () => loadPart('comparisons', () => import('./comparison.js'));

/** Loads the code for checks. */
const loadChecks = () => loadPart('checks', () => import('./check.js'));

/** Loads the code for digests. */
const loadDigests = () => loadPart('digests', () => import('./digest.js'));

/** All images that are not closed. */
export const openImages = new Set<OpenImage>();

/** One of the further images in a conversion of several. */
interface OtherDisk {
  context: ConversionContext;
  /** Aborted when the image is closed. */
  closing: AbortSignal;
  /** Keeps the image open until `work`, which `signal` cancels, ends. */
  use<T>(work: Promise<T>, signal: AbortSignal): Promise<T>;
}

/** The images in `options.disks`. Throws `usage` for other values, and for closed images. */
const otherDisks = ({ disks = [] }: ConvertOptions): OtherDisk[] =>
  disks.map((image) => otherDisk(image, "one of the 'disks'"));

/** The image, which messages call `what`. Throws `usage` for another value, and for a closed image. */
function otherDisk(image: unknown, what: string): OtherDisk {
  checkReadable(what, image);
  if (image instanceof OpenImage) return image.asOtherDisk();
  const named = `${what[0]!.toUpperCase()}${what.slice(1)}`;
  throw new DecantError('usage', `${named} is not an image of this copy of the package`);
}

/**
 * An opened image. Its methods are bound: a proxy around it, as frameworks make, would otherwise hide its private
 * fields.
 */
export class OpenImage {
  #closing = new AbortController();
  #closed: Promise<void> | undefined;
  /** Conversions, maps, reads and unlockings under way: the image stays open until they have ended. */
  #uses = new Set<Promise<unknown>>();
  /** Not a getter: through a proxy, it would have no access to private fields. */
  info: AnyInfo;
  /** Whether the image can only be read in order. */
  readonly streamed: boolean;
  readonly formats: readonly OutputFormat[];
  disks: readonly DiskMember[];

  constructor(
    private readonly platform: Platform,
    private readonly setup: ImageSetup,
    private readonly sessions: ImageSessions,
    /** The packed file, if the image was unpacked. */
    packed?: Pick<Unpacked, 'containers' | 'members' | 'machine' | 'hardware'>,
  ) {
    const { info, members, formats, comesInOrder } = sessions.opened;
    const { name } = setup.settings;
    const safety = [...info.safety, ...setup.sources.unnoticed.map(notVerified)];
    const { machine = packed?.machine, hardware = packed?.hardware } = info;
    this.info = frozen({
      ...info,
      safety,
      ...(name !== undefined && { name }),
      ...(packed && { containers: [...packed.containers, ...info.containers] }),
      ...(machine !== undefined && { machine }),
      ...(hardware && { hardware }),
    });
    this.formats = frozen(formats);
    this.disks = frozen(packed && packed.members.length > 0 ? packed.members : members);
    this.streamed = comesInOrder;
    openImages.add(this);
    for (const name of Reflect.ownKeys(OpenImage.prototype) as (keyof OpenImage)[]) {
      const method: unknown = this[name];
      if (typeof method !== 'function' || method === OpenImage) continue;
      // No result of `bind`: Node 24 does not accept one as a disposer.
      const value = (...args: unknown[]) => method.apply(this, args);
      // Writable, so that tests can spy on it.
      Object.defineProperty(this, name, { value, writable: true, configurable: true });
    }
  }

  async prepare(): Promise<void> {
    this.#requireOpen();
    await this.#use(this.sessions.prepare());
  }

  async unlock(options: UnlockOptions = {}): Promise<void> {
    this.#requireOpen();
    checkCall('unlock', options);
    await withProgress(options.onProgress, (report) => {
      const onProgress = (share: number) => report({ phase: 'unlocking', fraction: share, unlocked: share });
      return withListener(this.#until(options.signal), onProgress, async (signal, report) => {
        const session = await this.#acquire('Unlocking the image', signal, report);
        await session.release();
      });
    });
  }

  async *map(options: MapOptions = {}): AsyncGenerator<Extent, void, void> {
    this.#requireOpen();
    checkCall('map', options);
    const signal = this.#until(options.signal);
    const session = await this.#acquire(MAPPING, signal);
    try {
      yield* this.#extents(session, signal);
    } finally {
      await session.release();
    }
  }

  async compare(image: ImageBase, options: CompareOptions = {}): Promise<CompareResult> {
    this.#requireOpen();
    checkCall('compare', options);
    const other = otherDisk(image, 'the other image');
    const signal = anyOf([this.#until(options.signal), other.closing]);
    const { compareImages } = await this.#use(orCancelled(signal, loadComparisons()), COMPARING, signal);
    // Both images stay open until the comparison ends.
    const comparing = withProgress(options.onProgress, (onProgress) =>
      compareImages(this.#context, other.context, { ...options, onProgress, signal }),
    );
    return this.#use(other.use(comparing, signal), COMPARING, signal);
  }

  async measure(options: MeasureOptions = {}): Promise<MeasureResult> {
    this.#requireOpen();
    checkCall('measure', options);
    const { format = 'raw' } = options;
    const [formatOptions, { size }] = [settleFormatOptions(options), settleSize(options)];
    const signal = this.#until(options.signal);
    const session = await this.#acquire(MEASURING, signal);
    try {
      const { client, image } = session;
      const request = { image, format, formatOptions, size };
      const measuring = session.run(signal, (operation) => client.call('measure', { operation, ...request }));
      return await this.#use(measuring, MEASURING, signal);
    } finally {
      await session.release();
    }
  }

  async check(options: CheckOptions = {}): Promise<CheckResult> {
    this.#requireOpen();
    checkCall('check', options);
    const { deep = false } = options;
    return withProgress(options.onProgress, (report) => {
      // Each counts half: all tables of the chain, whose examination reports no progress, and the structures of the file.
      const onProgress = (share: number) => report({ phase: 'checking', fraction: (1 + share) / 2 });
      return withListener(this.#until(options.signal), onProgress, (until, report) => this.#check(deep, until, report));
    });
  }

  async #check(deep: boolean, until: AbortSignal, report: (share: number) => void): Promise<CheckResult> {
    const use = <T>(work: Promise<T>) => this.#use(work, CHECKING, until);
    const { checkResult } = await use(orCancelled(until, loadChecks()));
    const session = await use(this.sessions.acquireLocked(until));
    try {
      const { client, image } = session;
      const examination = session.run(until, (operation) => client.call('examine', { operation, image, deep }));
      const examined = await use(examination);
      const checked = deep && examined ? await use(checkFile(session, until, report)) : undefined;
      return checkResult(this.info, examined, checked);
    } finally {
      await session.release();
    }
  }

  async digest(options: DigestOptions & { tree: true }): Promise<TreeDigest>;
  async digest(options?: DigestOptions & { tree?: false }): Promise<DiskDigest>;
  async digest(options: DigestOptions = {}): Promise<DiskDigest | TreeDigest> {
    this.#requireOpen();
    checkCall('digest', options);
    const signal = this.#until(options.signal);
    const { digestOf } = await this.#use(orCancelled(signal, loadDigests()), DIGESTING, signal);
    const memory = this.sessions.opened.isInPlace && { memory: MEMORY_IN_PLACE };
    const digesting = withProgress(options.onProgress, (onProgress) =>
      digestOf(this.#context, { ...options, onProgress, ...memory, signal }),
    );
    return this.#use(digesting, DIGESTING, signal);
  }

  async read(offset: number, length: number, options: ReadOptions = {}): Promise<Bytes> {
    this.#requireOpen();
    checkCall('read', options);
    const { virtualSize } = this.info;
    requireWhole('offset', offset);
    requireWhole('length', length);
    // Without a size, the coordinator refuses the read.
    if (virtualSize !== undefined) checkRange(offset, length, virtualSize);
    if (length === 0) return new Uint8Array(0);
    return this.#read(offset, length, this.#until(options.signal));
  }

  readable(options: ReadableOptions = {}): ReadableStream<Bytes> {
    this.#requireOpen();
    checkCall('readable', options);
    // Without a size, the first read is refused.
    const { virtualSize = Number.MAX_SAFE_INTEGER } = this.info;
    const { offset = 0, signal } = options;
    requireWhole('offset', offset);
    const { length = Math.max(0, virtualSize - offset) } = options;
    requireWhole('length', length);
    checkRange(offset, length, virtualSize);
    const read = (offset: number, length: number, signal: AbortSignal) =>
      this.#read(offset, length, this.#until(signal));
    const confirm = (signal: AbortSignal) => {
      const until = this.#until(signal);
      return this.#use(this.#confirm(until), READING, until);
    };
    return streamOf(offset, offset + length, read, confirm, signal);
  }

  async convert(output: Output, options: ConvertOptions = {}): Promise<ConvertResult> {
    let signal: AbortSignal;
    let spool: Spool | undefined;
    let beginning: Promise<Output> | undefined;
    let sized: { formatOptions: Record<string, string>; size?: number };
    let others: OtherDisk[];
    try {
      this.#requireOpen();
      checkConversion(output, options, this.platform.convertOptions);
      checkFileOptions(output, options);
      others = otherDisks(options);
      spool = this.platform.spool(options, this.setup.sources.all, 'convert without it');
      if (spool) checkSpooled(options);
      sized = { formatOptions: settleFormatOptions(options), ...settleSize(options) };
      signal = anyOf([this.#until(options.signal), ...others.map(({ closing }) => closing)]);
      beginning = this.platform.begin?.(output);
    } catch (thrown) {
      abandonOutput(output, toDecantError(thrown));
      throw thrown;
    }
    const more = others.map(({ context }) => context);
    const context = more.length > 0 ? { ...this.#context, more } : this.#context;
    const isInPlace = [context, ...more].some(({ sessions }) => sessions.opened.isInPlace);
    const memory = isInPlace && { memory: options.memory ?? MEMORY_IN_PLACE };
    const settled = { ...options, ...memory, ...sized, signal };
    const isComplete = options.for === undefined && !describesMachine(this.formats, options.format);
    return withProgress(options.onProgress, async (onProgress) => {
      const listening = { ...settled, onProgress };
      const convertTo = async (place: Output): Promise<ConvertResult> => {
        const completed = isComplete ? listening : await completedFor(context, place, listening);
        const result = await convertImage(context, place, completed, spool);
        return options.bmap ? this.#withBmap(place, result, signal) : result;
      };
      const converted = beginning ? begun(beginning, signal).then(convertTo) : convertTo(output);
      // All images stay open until the conversion ends.
      const used = this.#use(converted, undefined, signal);
      return others.reduce((work, other) => other.use(work, signal), used);
    });
  }

  async #withBmap(output: Output, result: ConvertResult, signal: AbortSignal): Promise<ConvertResult> {
    const extents = this.streamed ? undefined : this.map({ signal });
    return {
      ...result,
      bmap: await this.#use(this.platform.bmap!(extents, output, result, signal), 'Making the bmap', signal),
    };
  }

  /** Returns this image as a further disk for the conversion of another one. Throws `usage` if the image was closed. */
  asOtherDisk(): OtherDisk {
    this.#requireOpen();
    return {
      context: this.#context,
      closing: this.#closing.signal,
      use: (work, signal) => this.#use(work, undefined, signal),
    };
  }

  get #context(): ConversionContext {
    const { platform, setup, sessions, info } = this;
    return { platform, setup, sessions, info };
  }

  async savedProgress(output: Output, options: ConvertOptions = {}): Promise<SavedProgress | undefined> {
    this.#requireOpen();
    checkConversion(output, options, this.platform.convertOptions);
    const signal = this.#until(options.signal);
    // The image stays open until the search ends, even after a cancel.
    const settled = { ...options, formatOptions: settleFormatOptions(options), ...settleSize(options) };
    const looking = this.#use(savedProgressOf(this.#context, output, settled, signal));
    return this.#use(orCancelled(signal, looking), LOOKING, signal);
  }

  async places(): Promise<ImagePlace[]> {
    this.#requireOpen();
    return this.#use(loadPlaces().then(({ placesOf }) => placesOf(this.sessions, this.#closing.signal)));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    openImages.delete(this);
    this.#closing.abort(closedError());
    this.sessions.cancelReads();
    await Promise.allSettled(this.#uses);
    await this.sessions.close();
    await this.setup.sources.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** `doing` names the operation in messages. */
  async #acquire(doing: string, signal: AbortSignal, report?: (share: number) => void): Promise<ImageSession> {
    try {
      return await this.#use(this.sessions.acquire(signal, report), doing, signal);
    } finally {
      const { needs } = this.sessions.info;
      if (needs.length !== this.info.needs.length) this.info = frozen({ ...this.info, needs });
    }
  }

  async #read(offset: number, length: number, signal: AbortSignal): Promise<Bytes> {
    const session = await this.#acquire(READING, signal);
    try {
      return await this.#use(readRange(session, offset, length, signal), READING, signal);
    } finally {
      await session.release();
    }
  }

  /** Fails with `source` if a file has, or may have, changed: a stream cannot report that in another way. */
  async #confirm(signal: AbortSignal): Promise<void> {
    const { sources } = this.setup;
    const before = sources.unnoticed;
    await sources.confirm(signal);
    const reason = sources.unnoticed.find((sentence) => !before.includes(sentence));
    if (reason !== undefined) throw new DecantError('source', `Could not read the image: ${reason}`);
  }

  async *#extents(session: ImageSession, signal: AbortSignal): AsyncGenerator<Extent, void, void> {
    const { client, image } = session;
    const map = await this.#use(
      session.run(signal, () => client.call('map', image)),
      MAPPING,
      signal,
    );
    try {
      for (;;) {
        const next = session.run(signal, (operation) => client.call('nextExtents', operation, map));
        const extents = await this.#use(next, MAPPING, signal);
        if (!extents) return;
        for (const extent of extents) yield this.#named(extent);
      }
    } finally {
      // Not awaited: the image may be closed already, or its coordinator dead.
      client.call('endMap', map).catch(() => {});
    }
  }

  #named({ file, ...extent }: CrateExtent): Extent {
    if (file === undefined) return extent;
    const name = file === 0 ? this.info.name : this.setup.sources.companions[file - 1]!.name;
    return name === undefined ? extent : { ...extent, file: name };
  }

  /** A signal that is aborted by `signal` and by `close`. A new one each time: Node warns about many listeners on one. */
  #until(signal: AbortSignal | undefined): AbortSignal {
    const closing = this.#closing.signal;
    return anyOf(signal ? [signal, closing] : [closing]);
  }

  /** Keeps the image open until `work` ends. `doing` names the operation in the error of a cancel by `signal`. */
  async #use<T>(work: Promise<T>, doing?: string, signal?: AbortSignal): Promise<T> {
    this.#uses.add(work);
    try {
      return await work;
    } catch (thrown) {
      const error = toDecantError(thrown);
      if (error.kind !== 'cancelled') throw thrown;
      const closing = this.#closing.signal;
      // Whichever came first.
      const isClosed = closing.aborted && (signal === undefined || signal.reason === closing.reason);
      if (isClosed) throw closedError();
      throw doing === undefined ? thrown : cancelled(doing, signal);
    } finally {
      this.#uses.delete(work);
    }
  }

  #requireOpen(): void {
    if (this.#closing.signal.aborted) throw new DecantError('usage', 'The image was closed');
  }
}

/** Checks the structures of the image's file. Resolves to undefined if a file with a part of it is missing. */
const checkFile = (
  session: ImageSession,
  signal: AbortSignal,
  report: (share: number) => void,
): Promise<FileCheck | undefined> =>
  session.run(signal, async (operation) => {
    const { client, image } = session;
    client.on(`checking:${operation}`, (share) => report(share as number));
    try {
      return await client.call('checkFile', operation, image);
    } catch (thrown) {
      // `info.needs` has the file.
      if (toDecantError(thrown).kind !== 'missing-file') throw thrown;
      return undefined;
    } finally {
      client.off(`checking:${operation}`);
    }
  });

const closedError = () => new DecantError('cancelled', 'The image was closed');

const notVerified = (message: string): Notice => ({ code: 'source-not-verified', fields: {}, message });

/** Resolves to the output of a conversion that begins. */
const begun = (beginning: Promise<Output>, signal: AbortSignal): Promise<Output> =>
  orCancelled(signal, beginning).catch(() => {
    throw cancelled('The conversion', signal);
  });

/** Adds the hardware of the machine to options for a format that describes it. A failure abandons the output. */
const completedFor = <T extends SettledOptions & { signal: AbortSignal }>(
  context: ConversionContext,
  output: Output,
  options: T,
): Promise<T> =>
  withHardware(context, output, options).catch((thrown) => {
    throw abandoned(output, thrown, options.signal);
  });
