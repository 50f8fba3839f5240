// A target of the caller's own, a stream among them: a coordinator sends the output to this side, which writes it there.

import { isObject, isStream } from '../calls/values.js';
import { cancelled, customTargetError, DecantError, orCancelled } from '../errors/errors.js';
import type { Piece, Taken, TargetSpec } from '../messages/messages.js';
import type { Network, Notice, Target, TargetResumePoint } from '../public/types.js';
import { keptError, type OutputTarget, type ResumePoint, requireSize, type Sizes } from './output-target.js';
import { streamTarget } from './stream-target.js';

/** A target that does not react to its end within this time, in milliseconds, is not waited for. */
const PATIENCE = 200;
/** The same where it is to keep what was written: whether it does is told. */
const PATIENCE_TO_KEEP = 10_000;
/** In seconds. */
const MAX_ABORT_TIMEOUT = 60;
/** Writes at once, unless the target says how many. */
const CONCURRENCY = 4;
const MAX_CONCURRENCY = 64;
/** Pieces on their way or here, besides those that the target has. */
const AHEAD = 2;

/** In bytes: a conversion goes on from one of them. */
const BLOCK = 4096;

const METHODS = ['write', 'close', 'abort'] as const;

/** The conversion under way that writes to a target. */
const writers = new WeakMap<Target, CustomTarget>();

/** Whether `value` is meant as a target of the caller's own. */
export const isTarget = (value: unknown): value is Target =>
  isObject(value) && METHODS.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');

/** The target to `output`, if that is a stream or a target of the caller's own. */
export function customTarget(output: unknown): CustomTarget | undefined {
  if (isStream(output)) return new CustomTarget(streamTarget(output));
  return isTarget(output) ? new CustomTarget(output) : undefined;
}

/** Tells `output` that nothing will come, where a conversion does not even begin: somebody may wait for it. */
export function abandonOutput(output: unknown, reason: DecantError): void {
  if (isStream(output) && output.locked) return;
  const discarded = customTarget(output)?.discard(reason, false);
  // Why it is given up is what the caller is told.
  discarded?.catch(() => {});
}

export class CustomTarget implements OutputTarget {
  /** What `prepare` has read of the target, whose fields may throw. */
  #concurrency = 0;
  readonly #queue: Piece[] = [];
  #underWay = 0;
  #port: MessagePort | undefined;
  #size = 0;
  #ended = false;
  failure: DecantError | undefined;
  /** Why the target does not know whether the output is complete. */
  #unconfirmed: string | undefined;
  resumePoint: ResumePoint | undefined;

  constructor(private readonly target: Target) {}

  get resumes(): boolean {
    return this.target.resumes === true;
  }

  get isConfirmed(): boolean {
    return this.#unconfirmed === undefined;
  }

  get notices(): readonly Notice[] {
    return this.#unconfirmed === undefined ? [] : [{ code: 'unconfirmed', fields: {}, message: this.#unconfirmed }];
  }

  get network(): Network | undefined {
    return this.target.network;
  }

  async prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec> {
    const { target } = this;
    if (writers.has(target)) throw new DecantError('usage', 'Another conversion writes to this target');
    writers.set(target, this);
    const { virtualSize, outputSize } = sizes;
    const ordered = target.ordered === true;
    this.#concurrency = target.concurrency ?? (ordered ? 1 : CONCURRENCY);
    this.#checkConcurrency();
    checkAbortTimeout(target.abortTimeout);
    const plan = {
      ...(virtualSize === undefined ? {} : { virtualSize }),
      ...(outputSize === undefined ? {} : { outputSize }),
      ascending: ordered,
      ...(identity === undefined ? {} : { identity }),
    };
    if (identity !== undefined && !ordered) throw new DecantError('usage', 'A target that resumes must be ordered');
    const resumePoint = await this.#asked(signal, async () => target.open?.(plan));
    if (identity !== undefined && resumePoint) this.#resume(resumePoint, sizes);
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }) => {
      this.#queue.push(data as Piece);
      this.#write();
    };
    return { port: port2, ordered, holes: target.hole !== undefined, pieces: this.#concurrency + AHEAD };
  }

  async commit(size: number, signal: AbortSignal): Promise<void> {
    requireSize(this.#size, size);
    if (signal.aborted) throw cancelled();
    const closing = (async () => this.target.close())();
    // Also where nobody waits for it any more: what is closed is not aborted.
    const closed = closing.then(
      (end) => {
        this.#unconfirmed = isObject(end) ? doubtIn(end.unconfirmed) : undefined;
        this.#end();
        return true;
      },
      () => false,
    );
    try {
      await this.#asked(signal, () => closing);
    } catch (thrown) {
      // A cancel while it is closed comes too late, unless it would wait.
      if (!signal.aborted || !(await within(PATIENCE, closed))) throw thrown;
    }
    this.#port?.close();
  }

  /** Fails with what the target could not remove, where it says that by a `DecantError`. Other failures are ignored. */
  async discard(reason: DecantError, keep: boolean): Promise<void> {
    this.#port?.close();
    this.#queue.length = 0;
    if (this.#ended) return;
    const writer = writers.get(this.target) ?? this;
    // What another conversion writes to stays as it is.
    if (writer !== this) return;
    this.#ended = true;
    const aborted = (async () => this.target.abort(reason, keep))().catch((thrown) =>
      DecantError.is(thrown) ? customTargetError(thrown) : undefined,
    );
    const isKept = await within(this.#abortTimeout(keep), aborted);
    this.#end();
    if (isKept instanceof DecantError) throw isKept;
    if (isKept === true && keep) throw keptError();
  }

  /** In milliseconds. */
  #abortTimeout(keep: boolean): number {
    const usual = keep ? PATIENCE_TO_KEEP : PATIENCE;
    const { abortTimeout = 0 } = this.target;
    return Math.max(usual, Math.min(MAX_ABORT_TIMEOUT, abortTimeout) * 1000) || usual;
  }

  #end(): void {
    this.#ended = true;
    if (writers.get(this.target) === this) writers.delete(this.target);
  }

  /** Takes what the target says that is there. */
  #resume({ offset, written }: TargetResumePoint, { virtualSize = 0 }: Sizes): void {
    const isWhole = Number.isSafeInteger(offset) && offset % BLOCK === 0 && offset >= 0 && offset <= virtualSize;
    if (!isWhole || !Number.isSafeInteger(written) || written < 0 || written > offset) {
      throw new DecantError('target', `A target cannot go on from byte ${offset}, of which ${written} were written`);
    }
    this.resumePoint = { guest: offset, written };
    this.#size = offset;
  }

  #checkConcurrency(): void {
    const isRight = Number.isInteger(this.#concurrency) && this.#concurrency >= 1;
    if (isRight && this.#concurrency <= MAX_CONCURRENCY) return;
    const sentence = `The concurrency of a target is a whole number from 1 to ${MAX_CONCURRENCY}`;
    throw new DecantError('usage', `${sentence}, not ${this.#concurrency}`);
  }

  /** Waits for what the target is asked for, unless the conversion is cancelled. */
  async #asked<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await orCancelled(signal, ask());
    } catch (thrown) {
      if (!signal.aborted) this.failure ??= customTargetError(thrown);
      throw signal.aborted ? cancelled() : this.failure;
    }
  }

  /** Begins writes in the order in which they came, as many as the target takes at once, and none after a failure or its end. */
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

  async #take(piece: Piece): Promise<void> {
    const { offset } = piece;
    const length = 'bytes' in piece ? piece.bytes.length : piece.length;
    try {
      if ('bytes' in piece) await this.target.write(offset, piece.bytes);
      else await this.target.hole!(offset, length);
      this.#size += length;
    } catch (thrown) {
      this.failure ??= customTargetError(thrown);
    }
    this.#underWay -= 1;
    this.#port!.postMessage({ failed: this.failure !== undefined } satisfies Taken);
    this.#write();
  }
}

/** Fails with `usage` where it is no time. */
function checkAbortTimeout(abortTimeout: unknown): void {
  if (abortTimeout === undefined || (typeof abortTimeout === 'number' && abortTimeout >= 0)) return;
  throw new DecantError('usage', `The abortTimeout of a target is a number of seconds, not ${String(abortTimeout)}`);
}

/** The sentence in `unconfirmed`, which only a type makes one. */
function doubtIn(unconfirmed: unknown): string | undefined {
  if (typeof unconfirmed === 'string') return unconfirmed;
  return unconfirmed ? 'The target could not confirm that the output is complete' : undefined;
}

/** What `work` resolves to, or `undefined` after `time` milliseconds. */
async function within<T>(time: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), time);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
