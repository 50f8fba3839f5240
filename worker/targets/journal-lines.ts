// The journal of a partial file, in Node and in browsers: a first line (the head) that identifies the conversion, then a line
// for each resume point.

import type { ResumePoint } from './output-target.js';

/** The minimum time between two resume points, in milliseconds. */
const INTERVAL = 500;
/** The minimum time between two resume points, as a multiple of the time that the last one took. */
const TIMES = 10;
/** How much of a disk may be converted and in no resume point yet, in bytes, or as a share of the disk if that is more. */
const MOST_UNSAVED = 64e6;
const MOST_SHARE = 0.05;
const NOTHING: ResumePoint = { guest: 0, written: 0 };

/** How many bytes of a disk of `size` bytes, if that is known, may be converted and in no resume point yet. */
export const mostUnsaved = (size = 0): number => Math.max(MOST_UNSAVED, MOST_SHARE * size);

export const lineOf = ({ guest, written }: ResumePoint): string => `${guest} ${written}\n`;

/** Parses a journal: its head and its last resume point. Returns undefined if even the head is incomplete. */
export function readLines(text: string): { head: string; resumePoint: ResumePoint | undefined } | undefined {
  // An unterminated line was being written when the system stopped.
  const [head, ...lines] = text.split('\n').slice(0, -1);
  if (head === undefined) return undefined;
  return { head, resumePoint: lines.map(resumePointOf).findLast((resumePoint) => resumePoint !== undefined) };
}

function resumePointOf(line: string): ResumePoint | undefined {
  const [, guest, written] = /^(\d{1,16}) (\d{1,16})$/.exec(line) ?? [];
  return guest === undefined ? undefined : { guest: Number(guest), written: Number(written) };
}

/** The length of the terminated lines in `journal`: a new line must not continue an unterminated one. */
export const wholeLines = (journal: Uint8Array): number => journal.lastIndexOf('\n'.charCodeAt(0)) + 1;

/** The files of a journal. Data is flushed before its line, so that a resume point survives a power failure. */
export interface JournalFile {
  flushData(): Promise<void>;
  /** Resolves when the line is on the disk. */
  append(line: string): Promise<void>;
  /** Called after each attempt to save a resume point. */
  attempted?(): void;
}

/**
 * Writes resume points to a journal from time to time, and whenever `most` bytes of the disk were written since the last one. A
 * failure of the journal only loses resume points.
 */
export class JournalWriter {
  #latest: ResumePoint;
  #saved: ResumePoint;
  /** When to save the next one. */
  #next = performance.now() + INTERVAL;
  #saving: Promise<void> | undefined;
  #isBroken = false;
  /** Why the data could not be flushed. The system reports it only once. */
  flushFailure: unknown;

  /** `resumePoint` is in the journal already. */
  constructor(
    private readonly file: JournalFile,
    resumePoint = NOTHING,
    private readonly most = Number.POSITIVE_INFINITY,
  ) {
    this.#latest = resumePoint;
    this.#saved = resumePoint;
  }

  /** Whether there is any saved progress. */
  get hasAny(): boolean {
    return this.#saved.guest > 0;
  }

  /** The guest offset up to which progress is saved; infinite after a failure, which saves nothing more. */
  get savedUpTo(): number {
    return this.#hasFailed ? Number.POSITIVE_INFINITY : this.#saved.guest;
  }

  /** Reports that the output is written up to `resumePoint`. */
  settled(resumePoint: ResumePoint): void {
    this.#latest = resumePoint;
    const start = performance.now();
    // Reports continue while a server is silent: the same point must not be flushed again and again.
    const unsaved = resumePoint.guest - this.#saved.guest;
    const isDue = unsaved > 0 && (unsaved >= this.most || start >= this.#next);
    if (!isDue || this.#saving || this.#hasFailed) return;
    this.#saving = this.#save().finally(() => {
      const end = performance.now();
      this.#next = end + Math.max(INTERVAL, TIMES * (end - start));
      this.#saving = undefined;
      this.file.attempted?.();
      // More may be due by now, and no other report may come before it is saved.
      this.settled(this.#latest);
    });
  }

  /** Waits for a resume point that is being saved. */
  async end(): Promise<void> {
    while (this.#saving) await this.#saving;
  }

  /** Saves the latest resume point, and ends. */
  async keep(): Promise<void> {
    await this.end();
    if (this.#latest.guest > this.#saved.guest) await this.#save();
  }

  get #hasFailed(): boolean {
    return this.#isBroken || this.flushFailure !== undefined;
  }

  async #save(): Promise<void> {
    if (this.#hasFailed) return;
    const latest = this.#latest;
    try {
      await this.file.flushData();
    } catch (thrown) {
      this.flushFailure = thrown;
      return;
    }
    try {
      await this.file.append(lineOf(latest));
      this.#saved = latest;
    } catch {
      this.#isBroken = true;
    }
  }
}
