// Outputs that are made complete in a temporary file, and then sent to a custom target or stream in ascending order.

import { DecantError } from '../errors/errors.js';
import type { TargetSpec } from '../messages/messages.js';
import type { Network, Notice } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { CustomTarget } from './custom-target.js';
import {
  explainFull,
  type FinalSizes,
  needless,
  type OpenReadable,
  type OutputTarget,
  type Sizes,
  type Spool,
} from './output-target.js';
import { sendSpool } from './spool-sending.js';

export class SpooledTarget implements OutputTarget {
  readonly readsBack = 'after';
  #isSending = false;
  readonly #left: Notice[] = [];

  constructor(
    private readonly target: CustomTarget,
    private readonly spool: Spool,
  ) {}

  get failure(): DecantError | undefined {
    return this.target.failure;
  }

  get isConfirmed(): boolean {
    return this.target.isConfirmed;
  }

  get notices(): readonly Notice[] {
    return [...this.target.notices, ...this.#left];
  }

  get network(): Network | undefined {
    return this.target.network;
  }

  /** The target is only claimed: it is opened when the size of the output is known. */
  async prepare(sizes: Sizes, signal: AbortSignal): Promise<TargetSpec> {
    await this.target.claim();
    if (!this.target.isAscending) throw needless();
    return this.spool.prepare(sizes, signal);
  }

  async send(sizes: FinalSizes, signal: AbortSignal, report: (sent: number) => void): Promise<number> {
    this.#isSending = true;
    // This thread sends the temporary file.
    this.target.hasWorker = false;
    const read = await this.spool.whole(sizes.outputSize);
    report(0);
    const spec = await this.target.prepare(sizes, signal);
    const written = await sendSpool(spec, sizes.outputSize, read, signal, report);
    await this.#remove();
    return written;
  }

  async commit(size: number, signal: AbortSignal): Promise<void> {
    await this.target.commit(size, signal);
  }

  readBack(size: number, open: OpenReadable): Promise<OpenedSource | undefined> {
    return this.target.readBack(size, open);
  }

  remove(): Promise<void> {
    return this.target.remove();
  }

  /** While the output is written, only the temporary file can be full. */
  explain(reason: DecantError): DecantError {
    return this.#isSending ? reason : explainFull(this.spool, reason);
  }

  async discard(reason: DecantError): Promise<void> {
    const ends = await Promise.allSettled([this.target.discard(reason, false), this.spool.remove()]);
    const [first, second] = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as DecantError] : []));
    if (!first) return;
    if (!second) throw first;
    const fields = { ...second.fields, ...first.fields };
    throw new DecantError('target', `${first.message}; ${second.message}`, { code: first.code, fields });
  }

  /** The target has all bytes, so a file that stays is not a failure. */
  async #remove(): Promise<void> {
    try {
      await this.spool.remove();
    } catch (thrown) {
      if (!(thrown instanceof DecantError)) throw thrown;
      const message = `The output is complete, but ${thrown.message}`;
      this.#left.push({ code: 'spool-left', fields: thrown.fields, message });
    }
  }
}
