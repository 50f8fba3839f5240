// The journal of a file in the origin's private file system, written by the worker that writes the file.

import { storageFull } from '../errors/errors.js';
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
   * Starts the journal with the line `head`. If `resumePoint` is not 0, continues the journal, and adds that point so that no
   * later one of the journal counts. `flushData` flushes the file.
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

  /** Reports that the output is written up to `resumePoint`. */
  settled(resumePoint: ResumePoint): void {
    this.#writer.settled(resumePoint);
  }

  /** Closes the journal. With `save`, saves the latest resume point first. */
  async end(save: boolean): Promise<void> {
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
