// The journal of a partial file, in Node and in browsers: a line for the conversion, and one for each time at which more
// was certain to be there.

import type { ResumePoint } from './output-target.js';

/** How long to wait before what is done is made certain once more: so many milliseconds, and as many times as it took. */
const INTERVAL = 500;
const TIMES = 10;
const NOTHING: ResumePoint = { guest: 0, written: 0 };

export const lineOf = ({ guest, written }: ResumePoint): string => `${guest} ${written}\n`;

/** The line for the conversion, and what is certain to be there; undefined where the text has not even the line. */
export function readLines(text: string): { head: string; resumePoint: ResumePoint | undefined } | undefined {
  // A line without an end was being written when the system stopped.
  const [head, ...lines] = text.split('\n').slice(0, -1);
  if (head === undefined) return undefined;
  return { head, resumePoint: lines.map(resumePointOf).findLast((resumePoint) => resumePoint !== undefined) };
}

function resumePointOf(line: string): ResumePoint | undefined {
  const [, guest, written] = /^(\d{1,16}) (\d{1,16})$/.exec(line) ?? [];
  return guest === undefined ? undefined : { guest: Number(guest), written: Number(written) };
}

/** Where a line ends that the next one must not continue: in `journal`, behind its last whole line. */
export const wholeLines = (journal: Uint8Array): number => journal.lastIndexOf('\n'.charCodeAt(0)) + 1;

/** What is to be done for a line: the data first, so that nothing is noted that a power failure could take away. */
export interface JournalFile {
  flushData(): Promise<void>;
  /** Resolves when the line is on the disk. */
  append(line: string): Promise<void>;
}

/** JournalWriter in a journal what is done, now and then. A failure of the journal makes less certain, and no more. */
export class JournalWriter {
  #latest: ResumePoint;
  #noted: ResumePoint;
  /** When it is to be noted next. */
  #next = performance.now() + INTERVAL;
  #noting: Promise<void> | undefined;
  #isBroken = false;
  /** Why the data did not get to the disk. The system tells it once. */
  flushFailure: unknown;

  /** `resumePoint` is noted already. */
  constructor(
    private readonly file: JournalFile,
    resumePoint = NOTHING,
  ) {
    this.#latest = resumePoint;
    this.#noted = resumePoint;
  }

  /** Whether anything is certain. */
  get hasAny(): boolean {
    return this.#noted.guest > 0;
  }

  /** So much is written. */
  settled(resumePoint: ResumePoint): void {
    this.#latest = resumePoint;
    const start = performance.now();
    // Progress goes on while a server is silent: what is noted already would be flushed again and again.
    const isNoted = resumePoint.guest === this.#noted.guest;
    if (isNoted || this.#noting || start < this.#next) return;
    this.#noting = this.#note().finally(() => {
      const end = performance.now();
      this.#next = end + Math.max(INTERVAL, TIMES * (end - start));
      this.#noting = undefined;
    });
  }

  /** Waits for what is being noted. */
  async end(): Promise<void> {
    await this.#noting;
  }

  /** JournalWriter what is written, and ends. */
  async keep(): Promise<void> {
    await this.#noting;
    if (this.#latest.guest > this.#noted.guest) await this.#note();
  }

  async #note(): Promise<void> {
    if (this.#isBroken || this.flushFailure !== undefined) return;
    const latest = this.#latest;
    try {
      await this.file.flushData();
    } catch (thrown) {
      this.flushFailure = thrown;
      return;
    }
    try {
      await this.file.append(lineOf(latest));
      this.#noted = latest;
    } catch {
      this.#isBroken = true;
    }
  }
}
