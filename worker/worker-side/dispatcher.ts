// Dispatches jobs to the workers of a pool: those of one conversion, or parts of a compressed file that is read in place. A worker can get
// jobs in rows: they follow each other on the disk, and mostly in the file, too, so that one long stream brings their bytes.

import { DecantError } from '../errors/errors.js';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER } from '../messages/messages.js';
import { channelPort, RpcClient, type WorkerPort } from '../messages/rpc.js';
import type { Attachment, JobMethods } from './pool-methods.js';
import { type PortSource, ReadQueue } from './port-source.js';
import type { Report } from './wasm.js';

/** How many jobs a worker has at once if it gets rows: one is decoded, one is read. */
const JOBS_AT_ONCE = 2;

/** Jobs that wait for one worker. */
interface Row {
  /** The number of the worker, once it is known. */
  worker?: number;
  /** Called with the number of the worker that runs the job. */
  waiting: ((worker: number) => void)[];
  /** How many jobs may still join. */
  room: number;
}

export class JobRows {
  /** How many jobs a row has. With 1, no job waits. */
  length = 1;
  /** The number of jobs that each worker has. */
  readonly #jobs: number[];
  #rows: Row[] = [];

  constructor(workers: number) {
    this.#jobs = Array.from({ length: workers }, () => 0);
  }

  /** Adds the next job of the disk. Resolves to the number of the worker that runs it, when that has time. */
  turn(): Promise<number> {
    return new Promise((resolve) => {
      let row = this.#rows.at(-1);
      if (!row?.room) {
        row = { waiting: [], room: this.length };
        this.#rows.push(row);
      }
      row.room -= 1;
      row.waiting.push(resolve);
      this.#assign();
    });
  }

  /** Reports the end of a job. */
  done(worker: number): void {
    this.#jobs[worker]! -= 1;
    this.#assign();
  }

  /** Gives jobs to the workers with the fewest. */
  #assign(): void {
    for (;;) {
      const worker = this.#jobs.indexOf(Math.min(...this.#jobs));
      if (this.length > 1 && this.#jobs[worker]! >= JOBS_AT_ONCE) return;
      const job = this.#rowFor(worker)?.waiting.shift();
      if (!job) return;
      this.#jobs[worker]! += 1;
      job(worker);
    }
  }

  /** The row of `worker`, or a new one, or else the second half of the longest. */
  #rowFor(worker: number): Row | undefined {
    this.#rows = this.#rows.filter(({ waiting, room }) => waiting.length + room > 0);
    const rows = this.#rows.filter(({ waiting }) => waiting.length > 0);
    const own = rows.find((row) => row.worker === worker) ?? rows.find((row) => row.worker === undefined);
    if (own) {
      own.worker = worker;
      return own;
    }
    const [longest] = rows.toSorted((a, b) => b.waiting.length - a.waiting.length);
    if (!longest) return undefined;
    const half = { worker, waiting: longest.waiting.splice(longest.waiting.length / 2), room: 0 };
    this.#rows.unshift(half);
    return half;
  }
}

/** A range of a source, in bytes, that the crate needs for a job. */
interface SourceRange {
  file: number;
  offset: number;
  length: number;
}

/** A pool worker, seen from a coordinator. The calling side terminates it and reports its end. */
const workerPort = (port: MessagePort): WorkerPort => ({
  ...channelPort(port),
  onDeath: () => {},
  terminate: async () => {},
  keepAlive: () => {},
});

export class Dispatcher {
  readonly #workers: RpcClient<JobMethods>[];
  /** Which worker runs which job. */
  readonly rows: JobRows;
  /** How many workers, the first ones, have had jobs. */
  #usedWorkers = 0;
  /** Reads for jobs that have not been sent. */
  readonly #waiting = new Map<Promise<Uint8Array<ArrayBuffer>>, ReadQueue>();
  /** By file number. */
  readonly #reads = new Map<number, ReadQueue>();
  /** The conversion's settings, which are sent with each worker's first job. Must be set before the first job. */
  attachment: Attachment | undefined;
  #failure: DecantError | undefined;

  constructor(
    private readonly ports: MessagePort[],
    /** The sources, in the order in which jobs number them. */
    private readonly sources: unknown[],
    /** Called before the first job of the worker with this number. */
    private readonly begin: (at: number) => void,
  ) {
    this.#workers = ports.map((port) => new RpcClient<JobMethods>(workerPort(port)));
    this.rows = new JobRows(ports.length);
  }

  /**
   * Runs `job` in a worker. `reads`: data of sources that workers cannot open, as ranges to fetch, or as bytes that the crate already
   * has.
   */
  async run(job: Uint8Array, reads: (SourceRange | Uint8Array<ArrayBuffer>)[]): Promise<unknown> {
    const brought = await Promise.all(reads.map((read) => (read instanceof Uint8Array ? read : this.#fetch(read))));
    const at = await this.rows.turn();
    const worker = this.#workers[at]!;
    const isFirst = at === this.#usedWorkers;
    if (isFirst && worker.alive) {
      this.#usedWorkers += 1;
      this.begin(at);
    }
    try {
      const moved = brought.map(({ buffer }) => buffer);
      return await worker.callMoving(moved, 'run', job, brought, isFirst ? this.attachment : undefined);
    } finally {
      this.rows.done(at);
    }
  }

  /** Fails current and later jobs with `internal` and `sentence`. Only the first call has an effect on the message. */
  fail(sentence: string): void {
    this.#failure ??= new DecantError('internal', sentence);
    this.#abandon(sentence);
  }

  /** The error of the first call of `fail`, if there was one. */
  get failure(): DecantError | undefined {
    return this.#failure;
  }

  /** Ends the conversion: cancels its reads, closes the ports and wipes the keys. */
  end(): void {
    this.#abandon('The conversion has ended');
    this.attachment?.keys?.fill(0);
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

/** Workers that are borrowed from the calling side as long as they have parts. */
interface BorrowedWorkers {
  number: number;
  dispatcher: Promise<Dispatcher>;
  give(dispatcher: Dispatcher): void;
  refuse(error: DecantError): void;
  /** The number of parts that they have, or that wait for them. */
  parts: number;
}

/** Pool workers that decode parts of a compressed file, borrowed from the calling side. */
export class PartWorkers {
  #nextNumber = 0;
  #borrowed: BorrowedWorkers | undefined;

  constructor(private readonly report: Report) {}

  /** Runs `task`, which decodes `part`, and takes the memory of `part`. Fails as the crate does, and with `internal` if the workers end. */
  async run(task: Uint8Array, part: Uint8Array<ArrayBuffer>[]): Promise<unknown> {
    this.#borrowed ??= this.#borrow();
    const borrowed = this.#borrowed;
    borrowed.parts += 1;
    try {
      return await (await borrowed.dispatcher).run(task, part);
    } finally {
      borrowed.parts -= 1;
      if (borrowed.parts === 0) await this.#giveBack(borrowed);
    }
  }

  /** The calling side's answer: the ports of the workers. */
  lend(number: number, ports: MessagePort[]): void {
    if (this.#borrowed?.number !== number) return;
    const dispatcher = new Dispatcher(ports, [], (at) => this.report(PARTS_WORKER, { number, at }));
    dispatcher.attachment = { files: [], keys: undefined, target: undefined };
    this.#borrowed.give(dispatcher);
  }

  /** The workers have ended, or could not be lent: their parts fail with `internal` and `sentence`. Later parts get others. */
  end(number: number, sentence: string): void {
    const borrowed = this.#borrowed;
    if (borrowed?.number !== number) return;
    this.#borrowed = undefined;
    borrowed.refuse(new DecantError('internal', sentence));
    borrowed.dispatcher.then(
      (dispatcher) => dispatcher.fail(sentence),
      () => {},
    );
  }

  #borrow(): BorrowedWorkers {
    const number = this.#nextNumber++;
    const borrowed = { number, parts: 0 } as BorrowedWorkers;
    borrowed.dispatcher = new Promise((give, refuse) => Object.assign(borrowed, { give, refuse }));
    // The users of the workers get the failure.
    borrowed.dispatcher.catch(() => {});
    this.report(PARTS_BEGIN, number);
    return borrowed;
  }

  async #giveBack(borrowed: BorrowedWorkers): Promise<void> {
    if (this.#borrowed === borrowed) this.#borrowed = undefined;
    // Workers that were not lent have no dispatcher.
    const dispatcher = await borrowed.dispatcher.catch(() => undefined);
    dispatcher?.end();
    this.report(PARTS_END, borrowed.number);
  }
}
