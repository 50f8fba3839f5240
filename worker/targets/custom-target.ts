// Custom targets: a coordinator sends the output to the calling side, which writes it.

import { cancelled, customTargetError, DecantError, orCancelled, orTargetError } from '../errors/errors.js';
import { succeeds, within } from '../errors/signals.js';
import { isObject } from '../errors/values.js';
import { type Digested, MAKES_BODIES, type Piece, type PortSpec, type Taken } from '../messages/messages.js';
import type { Network, Notice, Target, TargetResumePoint } from '../public/types.js';
import { checkedNetwork } from '../sources/checked-network.js';
import type { OpenedSource } from '../sources/opened-source.js';
import { outputInUse, writers } from './claims.js';
import {
  type OpenReadable,
  type OutputTarget,
  type ResumePoint,
  requireSize,
  resumableError,
  type Sizes,
} from './output-target.js';

/** How long a conversion waits for `abort` and for a late `close`, in milliseconds. */
const END_TIMEOUT = 200;
/** How long it waits for `abort` if the target may keep its output, in milliseconds: the result is needed then. */
const KEEP_TIMEOUT = 10_000;
/** The maximum of `abortTimeout`, in seconds. */
const MAX_ABORT_TIMEOUT = 60;
/** The default concurrency. */
const CONCURRENCY = 4;
const MAX_CONCURRENCY = 64;
/** Pieces in flight or queued, in addition to those being written. */
const AHEAD = 2;

/** The unit of resume points, in bytes. */
const BLOCK = 4096;

const OPTIONAL_METHODS = ['open', 'hole', 'readBack', 'remove'] as const;

export class CustomTarget implements OutputTarget {
  /** Read from the target in `claim`, since its getters may throw. */
  #concurrency = 0;
  #isAscending = false;
  #lateStart = 0;
  readonly #queue: (Piece | Digested)[] = [];
  #underWay = 0;
  #port: MessagePort | undefined;
  #size = 0;
  #ended = false;
  failure: DecantError | undefined;
  sha256: string | undefined;
  /** Why the target could not confirm that the output is complete. */
  #unconfirmed: string | undefined;
  /** Whether the target has compared checksums of all bytes. */
  #isChecked = false;
  resumePoint: ResumePoint | undefined;
  /** Whether a worker opens the result of `prepare`. */
  hasWorker = true;

  /** `requireOpen` fails if the target certainly cannot be written. */
  constructor(
    private readonly target: Target,
    private readonly requireOpen = async () => {},
    /** Whether the output is verified. */
    private readonly isVerified = false,
  ) {}

  readonly readsBack = 'after';

  get resumes(): boolean {
    return orTargetError(() => this.target.resumes === true);
  }

  get isConfirmed(): boolean {
    return this.#unconfirmed === undefined;
  }

  get notices(): readonly Notice[] {
    return this.#unconfirmed === undefined ? [] : [{ code: 'unconfirmed', fields: {}, message: this.#unconfirmed }];
  }

  get network(): Network | undefined {
    return orTargetError(() => checkedNetwork(this.target.network));
  }

  /** Whether the target takes bytes in ascending order. Known after `claim`. */
  get isAscending(): boolean {
    return this.#isAscending;
  }

  /** Checks the target, and keeps other conversions from it until the end. Fails with `usage`, or as the target has failed. */
  async claim(): Promise<void> {
    const { target } = this;
    if (writers.has(target)) throw outputInUse('this target');
    writers.set(target, this);
    this.#isAscending = target.ascending === true;
    this.#concurrency = target.concurrency ?? (this.#isAscending ? 1 : CONCURRENCY);
    this.#checkConcurrency();
    checkAbortTimeout(target.abortTimeout);
    checkOptionalMethods(target);
    this.#lateStart = checkedLateStart(target.lateStart);
    await this.requireOpen();
  }

  /** Claims the target if `claim` was not called, and opens it. */
  async prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<PortSpec> {
    const { target } = this;
    if (writers.get(target) !== this) await orCancelled(signal, this.claim());
    const [ascending, lateStart] = [this.#isAscending, this.#lateStart];
    const { virtualSize, outputSize } = sizes;
    const plan = {
      ...(virtualSize === undefined ? {} : { virtualSize }),
      ...(outputSize === undefined ? {} : { outputSize }),
      ascending,
      ...(identity === undefined ? {} : { identity }),
      ...(this.isVerified && { verify: true }),
    };
    if (identity !== undefined && !ascending) throw new DecantError('usage', 'A target that resumes must be ascending');
    const makers: PortSpec['bodies'][] = [];
    if (this.hasWorker) {
      const makeBodies = (digests: boolean) => {
        const { port1, port2 } = new MessageChannel();
        makers.push({ port: port2, digests });
        return port1;
      };
      // Only for Decant's own targets: not part of the contract of custom targets.
      Object.defineProperty(plan, MAKES_BODIES, { value: makeBodies });
    }
    const resumePoint = await this.#callOrCancel(signal, async () => target.open?.(plan));
    if (identity !== undefined && resumePoint) this.#resume(resumePoint, sizes);
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }) => {
      this.#queue.push(data as Piece | Digested);
      this.#write();
    };
    const [bodies] = makers;
    const pieces = this.#concurrency + AHEAD;
    return { port: port2, ascending, lateStart, holes: target.hole !== undefined, pieces, ...(bodies && { bodies }) };
  }

  async commit(size: number, signal: AbortSignal): Promise<void> {
    requireSize(this.#size, size);
    if (signal.aborted) throw cancelled();
    const closing = this.#close();
    // Tracked even after a cancel: a closed target must not be aborted.
    const closed = succeeds(closing);
    try {
      await this.#callOrCancel(signal, () => closing);
    } catch (thrown) {
      // A cancel during `close` is too late, unless `close` takes long.
      if (!signal.aborted || !(await within(END_TIMEOUT, closed, () => false))) throw thrown;
    }
    this.#port?.close();
  }

  async #close(): Promise<void> {
    const end = await this.target.close();
    // Before its result is read, which may fail.
    this.#end();
    this.#unconfirmed = isObject(end) ? doubtIn(end.unconfirmed) : undefined;
    this.#isChecked = isObject(end) && end.checked === true;
  }

  async readBack(_size: number, open: OpenReadable): Promise<OpenedSource | undefined> {
    if (this.#isChecked) return undefined;
    const readable = await this.#call(async () => this.target.readBack!());
    if (readable !== undefined) return open(readable);
    const message =
      'The output is complete, but could not be verified: its destination states no checksums, and it cannot be read back';
    throw new DecantError('target', message, { code: 'not-verifiable' });
  }

  async remove(): Promise<void> {
    await this.#call(async () => this.target.remove?.());
  }

  /** Resolves to the result of a method of the target after `close`. */
  async #call<T>(call: () => Promise<T>): Promise<T> {
    return call().catch((thrown) => {
      throw customTargetError(thrown);
    });
  }

  /** Fails with the target's `DecantError`, which says what could not be removed. Other failures of `abort` are ignored. */
  async discard(reason: DecantError, keep: boolean): Promise<void> {
    this.#port?.close();
    this.#queue.length = 0;
    if (this.#ended) return;
    const writer = writers.get(this.target) ?? this;
    // Another conversion is writing to the target: leave it alone.
    if (writer !== this) return;
    this.#ended = true;
    const aborted = (async () => this.target.abort(reason, keep))().catch((thrown) =>
      DecantError.is(thrown) ? customTargetError(thrown) : undefined,
    );
    const isKept = await within(this.#abortTimeout(keep), aborted, () => undefined);
    this.#end();
    if (isKept instanceof DecantError) throw isKept;
    if (isKept === true && keep) throw resumableError();
  }

  /** How long to wait for `abort`, in milliseconds. */
  #abortTimeout(keep: boolean): number {
    const usual = keep ? KEEP_TIMEOUT : END_TIMEOUT;
    try {
      const { abortTimeout = 0 } = this.target;
      return Math.max(usual, Math.min(MAX_ABORT_TIMEOUT, abortTimeout) * 1000) || usual;
    } catch {
      // The getter of `abortTimeout` throws: `prepare` reports that.
      return usual;
    }
  }

  #end(): void {
    this.#ended = true;
    if (writers.get(this.target) === this) writers.delete(this.target);
  }

  /** Continues from the target's resume point. */
  #resume({ offset, written }: TargetResumePoint, { virtualSize = 0 }: Sizes): void {
    const isWhole = Number.isSafeInteger(offset) && offset % BLOCK === 0 && offset >= 0 && offset <= virtualSize;
    if (!isWhole || !Number.isSafeInteger(written) || written < 0 || written > offset) {
      throw new DecantError('target', `A target cannot resume from byte ${offset} with ${written} bytes written`);
    }
    this.resumePoint = { guest: offset, written };
    this.#size = offset;
  }

  #checkConcurrency(): void {
    const isRight = Number.isInteger(this.#concurrency) && this.#concurrency >= 1;
    if (isRight && this.#concurrency <= MAX_CONCURRENCY) return;
    const sentence = `The concurrency of a target must be a whole number from 1 to ${MAX_CONCURRENCY}`;
    throw new DecantError('usage', `${sentence}, not ${this.#concurrency}`);
  }

  /** Waits for a call of the target, or for a cancel. */
  async #callOrCancel<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await orCancelled(signal, ask());
    } catch (thrown) {
      if (!signal.aborted) this.failure ??= customTargetError(thrown);
      throw signal.aborted ? cancelled() : this.failure;
    }
  }

  /** Starts queued writes in order, up to the concurrency; none after a failure or the end. */
  #write(): void {
    while (!this.failure && !this.#ended && this.#underWay < this.#concurrency) {
      const piece = this.#queue.shift();
      if (!piece) return;
      this.#underWay += 1;
      this.#take(piece).catch((thrown) => {
        this.failure ??= customTargetError(thrown);
      });
    }
  }

  async #take(piece: Piece | Digested): Promise<void> {
    if ('sha256' in piece) {
      this.sha256 = piece.sha256;
      return this.#taken();
    }
    const { offset } = piece;
    const length = 'bytes' in piece ? piece.bytes.length : piece.length;
    try {
      if ('bytes' in piece) await this.target.write(offset, piece.bytes);
      else await this.target.hole!(offset, length);
      this.#size += length;
    } catch (thrown) {
      this.failure ??= customTargetError(thrown);
    }
    this.#taken();
  }

  #taken(): void {
    this.#underWay -= 1;
    this.#port!.postMessage({ failed: this.failure !== undefined } satisfies Taken);
    this.#write();
  }
}

/** Throws `usage` for a method that is not a function. */
function checkOptionalMethods(target: Target): void {
  for (const name of OPTIONAL_METHODS) {
    const method: unknown = target[name];
    if (method === undefined || typeof method === 'function') continue;
    throw new DecantError('usage', `'${name}' of a target must be a function`);
  }
}

/** Throws `usage` for an invalid `abortTimeout`. */
function checkAbortTimeout(abortTimeout: unknown): void {
  if (abortTimeout === undefined || (typeof abortTimeout === 'number' && abortTimeout >= 0)) return;
  throw new DecantError(
    'usage',
    `The abortTimeout of a target must be a number of seconds, not ${String(abortTimeout)}`,
  );
}

/** Returns `lateStart`, by default 0. Throws `usage` if it is invalid. */
function checkedLateStart(lateStart: unknown = 0): number {
  if (typeof lateStart === 'number' && Number.isSafeInteger(lateStart) && lateStart >= 0) return lateStart;
  throw new DecantError('usage', `The lateStart of a target must be a number of bytes, not ${String(lateStart)}`);
}

/** The sentence in `unconfirmed`, which may have any type at run time. */
function doubtIn(unconfirmed: unknown): string | undefined {
  if (typeof unconfirmed === 'string') return unconfirmed;
  return unconfirmed ? 'The target could not confirm that the output is complete' : undefined;
}
