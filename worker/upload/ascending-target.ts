// What the targets of this package have in common that upload in ascending order.

import { DecantError } from '../errors/errors.js';
import type { Bytes, Network, Target, TargetEnd, TargetPlan, TargetResumePoint } from '../public/types.js';
import type { Md5 } from './md5.js';
import { PartCutter, type PartSize, type UploadPart } from './part-cutter.js';
import type { UploadRequests } from './upload-requests.js';

/** What a protocol of uploads has to do. */
export interface UploadProtocol {
  readonly requests: UploadRequests;
  /** Gets all bytes of a part before the part is sent. */
  readonly digest?: Md5;
  /** Whether it can go on with an upload that was cut off. */
  readonly resumes?: boolean;
  /** After `begin`: what the server has of an upload that was cut off. */
  readonly begun?: ResumedUpload | undefined;
  /** After `begin`: the sizes of parts that grow, because nobody knows how many there will be. */
  readonly sizeOf?: PartSize | undefined;
  /** Begins the upload. Returns the size of its parts in bytes. */
  begin(plan: TargetPlan): Promise<number>;
  /** Sends a part, or begins to. */
  part(part: UploadPart): Promise<void>;
  /**
   * Completes the upload: the object appears, of all parts. Resolves to the reason why the server could not confirm that, or to
   * `undefined` where it has.
   */
  complete(): Promise<string | undefined>;
  /**
   * Has the server remove the upload, unless a later conversion can go on with it and is to: `true`. Nothing is under way any
   * more. Fails with `left-behind` where the server does not.
   */
  abort(keep: boolean): Promise<unknown>;
}

/** The first `parts` of an upload are there; so many bytes of them were `written`, holes left out. */
export interface ResumedUpload {
  parts: number;
  written: number;
}

/**
 * The request that begins an upload may finish after a cancel, and then the one that removes it: ten seconds each. A server that
 * is silent takes thirteen of them at most.
 */
export const ABORT_TIMEOUT = 25;

export class UploadTarget implements Target {
  readonly ordered = true;
  readonly abortTimeout = ABORT_TIMEOUT;
  #parts: PartCutter | undefined;
  /** The beginning of the upload. */
  #begun: Promise<number> | undefined;

  constructor(private readonly protocol: UploadProtocol) {}

  get network(): Network {
    return this.protocol.requests.network;
  }

  get resumes(): boolean {
    return this.protocol.resumes ?? false;
  }

  async open(plan: TargetPlan): Promise<TargetResumePoint | undefined> {
    this.#begun = this.protocol.begin(plan);
    const size = await this.#begun;
    const { begun, sizeOf = () => size } = this.protocol;
    this.#parts = new PartCutter(
      sizeOf,
      begun ?? { parts: 0, written: 0 },
      (part) => this.protocol.part(part),
      this.protocol.digest,
    );
    return begun && { offset: begun.parts * size, written: begun.written };
  }

  async write(_offset: number, bytes: Uint8Array): Promise<void> {
    await this.#parts!.add(bytes);
  }

  async hole(_offset: number, length: number): Promise<void> {
    await this.#parts!.addZeros(length);
  }

  async close(): Promise<TargetEnd> {
    await this.#parts!.end();
    return endOf(await this.protocol.complete());
  }

  async abort(_reason: Error, keep = false): Promise<boolean> {
    this.protocol.requests.stop();
    // Its failure is one of `open`.
    await this.#begun?.catch(() => {});
    return (await this.protocol.abort(keep)) === true;
  }
}

/** A target that is good for one conversion: a later one that is given it fails, and changes nothing. */
export class SingleUseTarget implements Target {
  readonly ordered = true;
  readonly abortTimeout = ABORT_TIMEOUT;
  #state: 'new' | 'open' | 'over' = 'new';

  constructor(private readonly target: Target & Required<Pick<Target, 'network' | 'open' | 'hole'>>) {}

  get network(): Network {
    return this.target.network;
  }

  get resumes(): boolean {
    return this.target.resumes ?? false;
  }

  // biome-ignore lint/suspicious/noConfusingVoidType: as the contract has it
  async open(plan: TargetPlan): Promise<TargetResumePoint | void> {
    if (this.#state !== 'new') {
      throw new DecantError('target', 'The target of an upload is good for one conversion; make another one');
    }
    this.#state = 'open';
    return this.target.open(plan);
  }

  async write(offset: number, bytes: Bytes): Promise<void> {
    await this.target.write(offset, bytes);
  }

  async hole(offset: number, length: number): Promise<void> {
    await this.target.hole(offset, length);
  }

  // biome-ignore lint/suspicious/noConfusingVoidType: as the contract has it
  async close(): Promise<TargetEnd | void> {
    const end = await this.target.close();
    this.#state = 'over';
    return end;
  }

  // biome-ignore lint/suspicious/noConfusingVoidType: as the contract has it
  async abort(reason: Error, keep?: boolean): Promise<boolean | void> {
    if (this.#state !== 'open') return;
    this.#state = 'over';
    return this.target.abort(reason, keep);
  }
}

/** The end of an upload that the server could not confirm for the reason `unconfirmed`, if there is one. */
export const endOf = (unconfirmed: string | undefined): TargetEnd => (unconfirmed === undefined ? {} : { unconfirmed });

/** What the far side's limits do not allow. */
export const tooLarge = (why: string): DecantError => new DecantError('target', why);
