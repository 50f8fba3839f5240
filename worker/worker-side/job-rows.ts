// Which worker runs which job. A worker can get jobs in rows: they follow each other on the disk, and mostly in the file, too, so
// that one long stream brings their bytes.

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
