// The journal of a file in the origin's private file system, written by the worker that writes the file. Bounds how much of the disk
// is converted and in no resume point yet, since all of that is converted again after the tab is closed or has crashed.

import { storageFull } from '../errors/errors.js';
import type { Resume } from '../messages/messages.js';
import { JournalWriter, lineOf, wholeLines } from '../targets/journal-lines.js';
import type { ResumePoint } from '../targets/output-target.js';

/**
 * Shares of what may be unsaved: when a resume point is saved; when new jobs wait; and the memory of the jobs. Each worker has two jobs
 * in four buffers, so the jobs that run take half of that memory. The last quarter is for jobs that wait for a worker.
 */
const SAVED_AT = 1 / 4;
const WAITS_AT = 1 / 2;
const MEMORY = 1 / 2;

export class StorageJournal {
  readonly #writer: JournalWriter;
  /** The converted bytes of the disk, in any order. */
  #done: number;
  /** The number of jobs that have begun and not ended. */
  #running = 0;
  /** Continue jobs that wait. */
  #waiting: (() => void)[] = [];

  private constructor(
    private readonly handle: FileSystemSyncAccessHandle,
    flushData: () => Promise<void>,
    { resumePoint, mostUnsaved }: Resume,
  ) {
    const append = async (line: string) => this.#append(line);
    const file = { flushData, append, attempted: () => this.#wake() };
    this.#writer = new JournalWriter(file, resumePoint, mostUnsaved * SAVED_AT);
    this.#done = resumePoint.guest;
    this.mostUnsaved = mostUnsaved;
  }

  /** How many bytes of the disk may be converted and in no resume point yet. */
  readonly mostUnsaved: number;

  /** The most memory for the jobs of the conversion, in bytes. */
  get mostMemory(): number {
    return this.mostUnsaved * MEMORY;
  }

  /**
   * Starts the journal with the line `head`. If `resumePoint` is not 0, continues the journal, and adds that point so that no
   * later one of the journal counts. `flushData` flushes the file.
   */
  static begin(handle: FileSystemSyncAccessHandle, resume: Resume, flushData: () => Promise<void>): StorageJournal {
    const { head, resumePoint } = resume;
    const journal = new StorageJournal(handle, flushData, resume);
    if (resumePoint.guest > 0) {
      journal.#cutLine();
      journal.#append(lineOf(resumePoint));
    } else {
      handle.truncate(0);
      journal.#append(`${head}\n`);
    }
    return journal;
  }

  /** Reports that `done` bytes of the disk are converted, and that the output is written up to `resumePoint`. */
  settled(resumePoint: ResumePoint, done: number): void {
    this.#done = done;
    this.#writer.settled(resumePoint);
  }

  /** Runs a job of the conversion. It begins later if too much is unsaved, unless no other job runs. */
  async run<T>(job: () => Promise<T>): Promise<T> {
    while (this.#running > 0 && this.#done - this.#writer.savedUpTo >= this.mostUnsaved * WAITS_AT) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      return await job();
    } finally {
      this.#running -= 1;
      this.#wake();
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Closes the journal. With `save`, saves the latest resume point first. Jobs that wait never begin. */
  async end(save: boolean): Promise<void> {
    this.#waiting = [];
    await (save ? this.#writer.keep() : this.#writer.end());
    this.handle.close();
  }

  #append(text: string): void {
    const bytes = new TextEncoder().encode(text);
    // In a private window, full storage neither throws nor writes.
    if (this.handle.write(bytes, { at: this.handle.getSize() }) !== bytes.length) throw storageFull();
    this.handle.flush();
  }

  /** Removes an unterminated last line. */
  #cutLine(): void {
    const bytes = new Uint8Array(this.handle.getSize());
    this.handle.read(bytes, { at: 0 });
    this.handle.truncate(wholeLines(bytes));
  }
}
