// What the targets of this package have in common that upload in ascending order.

import { DecantError } from '../errors.js';
import type { Network, Target, TargetPlan } from '../types.js';
import { type Part, Parts } from './parts.js';
import type { Requests } from './requests.js';

/** What a protocol of uploads has to do. */
export interface Protocol {
  readonly requests: Requests;
  /** Begins the upload. Returns the size of its parts in bytes. */
  begin(plan: TargetPlan): Promise<number>;
  /** Sends a part, or begins to. */
  part(part: Part): Promise<void>;
  /** Completes the upload: the object appears, of all `parts`. */
  complete(): Promise<void>;
  /** Ends what is under way, and has the server forget it. */
  abort(): Promise<void>;
}

export class UploadTarget implements Target {
  readonly ordered = true;
  #parts: Parts | undefined;

  constructor(private readonly protocol: Protocol) {}

  get network(): Network {
    return this.protocol.requests.network;
  }

  async open(plan: TargetPlan): Promise<void> {
    const size = await this.protocol.begin(plan);
    this.#parts = new Parts(size, (part) => this.protocol.part(part));
  }

  async write(_offset: number, bytes: Uint8Array): Promise<void> {
    await this.#parts!.add(bytes);
  }

  async hole(_offset: number, length: number): Promise<void> {
    await this.#parts!.addZeros(length);
  }

  async close(): Promise<void> {
    await this.#parts!.end();
    await this.protocol.complete();
  }

  abort(): Promise<void> {
    return this.protocol.abort();
  }
}

/** What the far side's limits do not allow. */
export const refusedSize = (why: string): DecantError => new DecantError('sink', why);
