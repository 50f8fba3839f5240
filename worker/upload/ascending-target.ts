// The common part of uploads in ascending order.

import { DecantError } from '../errors/errors.js';
import type { Network, ReadableOutput, Target, TargetEnd, TargetPlan, TargetResumePoint } from '../public/types.js';
import { type BodyMaker, bodyMaker } from './body-maker.js';
import { LateFirstPart, PartCutter, type PartSize, type UploadPart } from './part-cutter.js';
import type { CompletionTracker } from './uncertain-completion.js';
import type { ObjectAddress, UploadRequests } from './upload-requests.js';

/** An upload protocol. */
export interface UploadProtocol {
  readonly requests: UploadRequests;
  /** Whether bytes are digested for `UploadPart.digest`. */
  readonly digests?: boolean;
  /** Whether interrupted uploads can be resumed. */
  readonly resumes?: boolean;
  /** How many bytes at the start of the output may come last; the first part has at least as many. */
  readonly lateStart?: number;
  /** Set by `begin`: the stored parts of a resumed upload. */
  readonly resumed?: ResumedUpload | undefined;
  /** Set by `begin` for an output of unknown size: part sizes, which grow. */
  readonly sizeOf?: PartSize | undefined;
  /** Begins the upload. Resolves to the size of its parts, in bytes. */
  begin(plan: TargetPlan): Promise<number>;
  /** Sends a part. May resolve before the part is stored. */
  part(part: UploadPart): Promise<void>;
  /**
   * Completes the object from all parts. Resolves to `undefined`, or to the reason why the server did not confirm the object.
   */
  complete(): Promise<string | undefined>;
  /**
   * Removes the upload from the server, unless `keep` is set and it can be resumed: then resolves to `true`. Called when no
   * request is pending. Fails with `left-behind` or `object-completed`.
   */
  abort(keep: boolean): Promise<unknown>;
  /** Tracks the request that completes the object, if the object may replace another one. */
  readonly completing?: CompletionTracker;
  /**
   * After `complete`: whether the server has stored all bytes as they were sent, as checksums show. Missing for a protocol without
   * checksums.
   */
  readonly isChecked?: boolean;
  /** The object, if its URL is known. */
  readonly object?: ObjectAddress | undefined;
}

/** The stored `parts`, from the first one on. `written` counts their bytes without holes. */
export interface ResumedUpload {
  parts: number;
  written: number;
}

/**
 * In seconds. After a cancel, the request that begins an upload may finish, then the one that removes it: ten seconds each. A
 * silent server takes at most thirteen.
 */
export const ABORT_TIMEOUT = 25;

export class UploadTarget implements Target {
  readonly ascending = true;
  readonly abortTimeout = ABORT_TIMEOUT;
  #parts: PartCutter | undefined;
  /** The first part, if its start comes last. */
  #first: LateFirstPart | undefined;
  #makeFirst: (() => LateFirstPart) | undefined;
  #beginning: Promise<number> | undefined;
  #maker: BodyMaker | undefined;
  /** Whether the output is verified. */
  #mustCheck = false;

  /** Missing for a protocol without checksums. */
  readonly readBack?: () => Promise<ReadableOutput | undefined>;

  constructor(private readonly protocol: UploadProtocol) {
    if (protocol.isChecked !== undefined) this.readBack = async () => protocol.requests.readable(protocol.object);
  }

  get network(): Network {
    return this.protocol.requests.network;
  }

  get resumes(): boolean {
    return this.protocol.resumes ?? false;
  }

  get lateStart(): number {
    return this.protocol.lateStart ?? 0;
  }

  async open(plan: TargetPlan): Promise<TargetResumePoint | undefined> {
    this.#mustCheck = plan.verify === true;
    this.#beginning = this.protocol.begin(plan);
    const size = await this.#beginning;
    const { resumed, sizeOf = () => size } = this.protocol;
    const take = (part: UploadPart) => this.protocol.part(part);
    const maker = bodyMaker(plan, this.protocol.digests === true);
    this.#maker = maker;
    this.#parts = new PartCutter(sizeOf, resumed ?? { parts: 0, written: 0 }, take, maker);
    this.#makeFirst = () => {
      this.#parts = new PartCutter(sizeOf, { parts: 1, written: 0 }, take, maker);
      return new LateFirstPart(sizeOf(0), this.#parts, take, maker);
    };
    return resumed && { offset: resumed.parts * size, written: resumed.written };
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    this.#beginAt(offset);
    await (this.#first ? this.#first.add(offset, bytes) : this.#parts!.add(bytes));
  }

  async hole(offset: number, length: number): Promise<void> {
    this.#beginAt(offset);
    await (this.#first ? this.#first.addZeros(offset, length) : this.#parts!.addZeros(length));
  }

  /** If the first write does not begin at the start of the output, the start comes last. */
  #beginAt(offset: number): void {
    if (!this.#makeFirst) return;
    if (offset > 0 && !this.protocol.resumed) this.#first = this.#makeFirst();
    this.#makeFirst = undefined;
  }

  async close(): Promise<TargetEnd> {
    await (this.#first ?? this.#parts!).end();
    const end = endOf(await this.protocol.complete());
    this.#maker?.close();
    return this.#mustCheck && this.protocol.isChecked ? { ...end, checked: true } : end;
  }

  async remove(): Promise<void> {
    await this.protocol.requests.removeObject(this.protocol.object);
  }

  async abort(_reason: Error, keep = false): Promise<boolean> {
    const { requests, completing } = this.protocol;
    if (completing?.pending) await requests.lastResponse(completing.pending);
    requests.stop();
    this.#maker?.close();
    // Ignored: `open` reports it.
    await this.#beginning?.catch(() => {});
    return (await this.protocol.abort(keep)) === true;
  }
}

/** Makes `target` fail, without any effect, when it is used again. */
export function singleUse(target: Target & Required<Pick<Target, 'open'>>): Target {
  const open = target.open.bind(target);
  const close = target.close.bind(target);
  const abort = target.abort.bind(target);
  let state: 'new' | 'open' | 'over' = 'new';
  target.open = async (plan) => {
    if (state !== 'new') {
      throw new DecantError('target', 'The target of an upload can be used for one conversion only; make another one');
    }
    state = 'open';
    return open(plan);
  };
  target.close = async () => {
    const end = await close();
    state = 'over';
    return end;
  };
  target.abort = async (reason, keep) => {
    if (state !== 'open') return;
    state = 'over';
    return abort(reason, keep);
  };
  return target;
}

/** Makes the result of `close`. */
export const endOf = (unconfirmed: string | undefined): TargetEnd => (unconfirmed === undefined ? {} : { unconfirmed });

/** Fails if a part is missing: then the object must not be completed. */
export function requireAllParts(parts: readonly unknown[]): void {
  if (Array.from(parts).includes(undefined)) throw new DecantError('internal', 'A part of the upload was left out');
}

/** Makes the error of an output beyond the limits of the server. */
export const tooLarge = (why: string): DecantError => new DecantError('target', why);
