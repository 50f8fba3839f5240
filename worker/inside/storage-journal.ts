// The journal of a file in the origin's private file system: what is certain to be in it. It is written where the file is.

import { lineOf, nextNote } from '../targets/journal-lines.js';
import type { Begun } from '../targets/route.js';

const LINE_END = '\n'.charCodeAt(0);

export class StorageJournal {
  #latest: Begun | undefined;
  #next = nextNote(performance.now(), performance.now());
  #noting: Promise<void> | undefined;
  /** Nothing can be noted any more. */
  #isBroken = false;

  private constructor(
    private readonly handle: FileSystemSyncAccessHandle,
    private readonly flushData: () => Promise<void>,
  ) {}

  /** Begins the journal in `file` by the line `head`, or goes on with it. `flushData` gets the data to the disk. */
  static begin(
    handle: FileSystemSyncAccessHandle,
    head: string,
    goesOn: boolean,
    flushData: () => Promise<void>,
  ): StorageJournal {
    const journal = new StorageJournal(handle, flushData);
    if (goesOn) journal.#cutLine();
    else {
      handle.truncate(0);
      journal.#append(`${head}\n`);
    }
    return journal;
  }

  /** So much is written. It is noted when it is certain, now and then. */
  settled(begun: Begun): void {
    this.#latest = begun;
    const now = performance.now();
    if (this.#noting || now < this.#next) return;
    this.#noting = this.#note().finally(() => {
      this.#next = nextNote(now, performance.now());
      this.#noting = undefined;
    });
  }

  /** Ends it; with `note`, after noting what is written. */
  async end(note: boolean): Promise<void> {
    await this.#noting;
    if (note) await this.#note();
    this.handle.close();
  }

  /** The data first: nothing is noted that a power failure could take away. A failure makes less certain, and no more. */
  async #note(): Promise<void> {
    const latest = this.#latest;
    this.#latest = undefined;
    if (!latest || this.#isBroken) return;
    try {
      await this.flushData();
      this.#append(lineOf(latest));
    } catch {
      this.#isBroken = true;
    }
  }

  #append(text: string): void {
    const bytes = new TextEncoder().encode(text);
    // In a private window a full storage neither throws nor writes.
    if (this.handle.write(bytes, { at: this.handle.getSize() }) !== bytes.length)
      throw new Error('the storage is full');
    this.handle.flush();
  }

  /** The next line must not continue one without an end. */
  #cutLine(): void {
    const bytes = new Uint8Array(this.handle.getSize());
    this.handle.read(bytes, { at: 0 });
    this.handle.truncate(bytes.lastIndexOf(LINE_END) + 1);
  }
}
