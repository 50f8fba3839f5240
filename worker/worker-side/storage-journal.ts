// The journal of a file in the origin's private file system: what is certain to be in it. It is written where the file is.

import { JournalWriter, lineOf, wholeLines } from '../targets/journal-lines.js';
import type { ResumePoint } from '../targets/output-target.js';

export class StorageJournal {
  readonly #writer: JournalWriter;

  private constructor(
    private readonly handle: FileSystemSyncAccessHandle,
    flushData: () => Promise<void>,
    resumePoint: ResumePoint,
  ) {
    this.#writer = new JournalWriter({ flushData, append: async (line) => this.#append(line) }, resumePoint);
  }

  /**
   * Begins the journal by the line `head`, or goes on with it from `resumePoint`: what it says of more is not gone on with, and must
   * not be later. `flushData` gets the data to the disk.
   */
  static begin(
    handle: FileSystemSyncAccessHandle,
    head: string,
    resumePoint: ResumePoint,
    flushData: () => Promise<void>,
  ): StorageJournal {
    const journal = new StorageJournal(handle, flushData, resumePoint);
    if (resumePoint.guest > 0) {
      journal.#cutLine();
      journal.#append(lineOf(resumePoint));
    } else {
      handle.truncate(0);
      journal.#append(`${head}\n`);
    }
    return journal;
  }

  /** So much is written. */
  settled(resumePoint: ResumePoint): void {
    this.#writer.settled(resumePoint);
  }

  /** Ends it, after noting what is written where that is to be kept. */
  async end(keeps: boolean): Promise<void> {
    await (keeps ? this.#writer.keep() : this.#writer.end());
    this.handle.close();
  }

  #append(text: string): void {
    const bytes = new TextEncoder().encode(text);
    // In a private window a full storage neither throws nor writes.
    if (this.handle.write(bytes, { at: this.handle.getSize() }) !== bytes.length)
      throw new Error('the storage is full');
    this.handle.flush();
  }

  /** Removes a last line without an end, which the next one must not continue. */
  #cutLine(): void {
    const bytes = new Uint8Array(this.handle.getSize());
    this.handle.read(bytes, { at: 0 });
    this.handle.truncate(wholeLines(bytes));
  }
}
