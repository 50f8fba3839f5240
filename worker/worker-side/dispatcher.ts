// The jobs of one conversion, dispatched to the workers of a pool.

import { DecantError } from '../errors/errors.js';
import { channelPort, RpcClient, type WorkerPort } from '../messages/rpc.js';
import type { Attachment, JobMethods } from './pool-methods.js';
import { type PortSource, ReadQueue } from './port-source.js';

/** A range of one of the sources, in bytes: what the crate wants to have read for a job. */
export interface SourceRange {
  file: number;
  offset: number;
  length: number;
}

/** A pool worker as a coordinator has it: the calling side ends it, and tells its end. */
const workerPort = (port: MessagePort): WorkerPort => ({
  ...channelPort(port),
  onDeath: () => {},
  terminate: async () => {},
  keepAlive: () => {},
});

export class Dispatcher {
  readonly #workers: RpcClient<JobMethods>[];
  /** How many jobs each worker has. */
  readonly #jobs: number[];
  /** ReadQueue for jobs that are still to be sent. */
  readonly #waiting = new Map<Promise<Uint8Array<ArrayBuffer>>, ReadQueue>();
  /** By the numbers of their files. */
  readonly #reads = new Map<number, ReadQueue>();
  #failure: DecantError | undefined;

  constructor(
    private readonly ports: MessagePort[],
    /** As jobs number them. */
    private readonly sources: unknown[],
  ) {
    this.#workers = ports.map((port) => new RpcClient<JobMethods>(workerPort(port)));
    this.#jobs = ports.map(() => 0);
  }

  /** Tells all workers what their jobs are about; it comes before the first job. */
  attach(attachment: Attachment): void {
    // The end of a worker is told by the calling side.
    for (const worker of this.#workers) worker.call('attach', attachment).catch(() => {});
  }

  /**
   * Runs `job` in the worker that has the fewest, with the bytes of `reads`: of what workers do not open by themselves, as
   * ranges, or as bytes where the crate has them.
   */
  async run(job: Uint8Array, reads: (SourceRange | Uint8Array<ArrayBuffer>)[]): Promise<unknown> {
    const brought = await Promise.all(reads.map((read) => (read instanceof Uint8Array ? read : this.#fetch(read))));
    const at = this.#jobs.indexOf(Math.min(...this.#jobs));
    this.#jobs[at]! += 1;
    try {
      const moved = brought.map(({ buffer }) => buffer);
      return await this.#workers[at]!.callMoving(moved, 'run', job, brought);
    } finally {
      this.#jobs[at]! -= 1;
    }
  }

  /** Jobs under way fail with `internal` and `sentence`, and so do all that follow. The first sentence counts. */
  fail(sentence: string): void {
    this.#failure ??= new DecantError('internal', sentence);
    this.#abandon(sentence);
  }

  /** Why the workers cannot be used any more, if `fail` was called. */
  get failure(): DecantError | undefined {
    return this.#failure;
  }

  /** Nobody waits for a job any more. */
  end(): void {
    this.#abandon('The conversion has ended');
    for (const port of this.ports) port.close();
  }

  #abandon(sentence: string): void {
    for (const [read, reads] of this.#waiting) reads.giveUp(read);
    for (const worker of this.#workers) worker.abandon(sentence);
  }

  async #fetch({ file, offset, length }: SourceRange): Promise<Uint8Array<ArrayBuffer>> {
    const reads = this.#reads.get(file) ?? new ReadQueue(this.sources[file] as PortSource);
    this.#reads.set(file, reads);
    const read = reads.fetch(offset, length);
    this.#waiting.set(read, reads);
    try {
      return await read;
    } finally {
      this.#waiting.delete(read);
    }
  }
}
