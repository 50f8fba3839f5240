// Vitest: an origin's private file system and Web Locks in memory, as far as worker/targets/ uses them.

import { vi } from 'vitest';

type Mode = { create?: boolean };

const missing = () => new DOMException('not there', 'NotFoundError');

/** A file; `hold` keeps it from being removed, as a worker does that has it open. */
export class MemoryFile {
  readonly kind = 'file';
  content = Buffer.alloc(0);
  lastModified = Date.now();
  isHeld = false;

  constructor(
    public folder: MemoryFolder,
    public name: string,
  ) {}

  async getFile(): Promise<File> {
    if (this.folder.children.get(this.name) !== this) throw missing();
    return new File([this.content], this.name, { lastModified: this.lastModified });
  }

  async isSameEntry(other: unknown): Promise<boolean> {
    return other === this;
  }

  async move(folder: MemoryFolder, name: string): Promise<void> {
    this.folder.children.delete(this.name);
    this.folder = folder;
    this.name = name;
    folder.children.set(name, this);
  }

  /** Replaces the content, as a conversion or another program does. */
  write(content: string): this {
    this.content = Buffer.from(content);
    this.lastModified = Date.now();
    return this;
  }
}

export class MemoryFolder {
  readonly kind = 'directory';
  readonly name = 'picked';
  readonly children = new Map<string, MemoryFile | MemoryFolder>();
  #isMoved = false;
  #refusal: Error | undefined;

  /** From now on nothing can be made in it. */
  refuse(thrown: Error): void {
    this.#refusal = thrown;
  }

  /** Moves it to where its handle does not find it. */
  moveAway(): void {
    this.#isMoved = true;
    this.children.clear();
  }

  async getFileHandle(name: string, { create = false }: Mode = {}): Promise<MemoryFile> {
    const entry = this.children.get(name);
    if (entry instanceof MemoryFile) return entry;
    if (entry) throw new DOMException('a folder', 'TypeMismatchError');
    if (!create) throw missing();
    if (this.#refusal) throw this.#refusal;
    return this.add(name);
  }

  async getDirectoryHandle(name: string, { create = false }: Mode = {}): Promise<MemoryFolder> {
    const entry = this.children.get(name);
    if (entry instanceof MemoryFolder) return entry;
    if (entry) throw new DOMException('a file', 'TypeMismatchError');
    if (!create) throw missing();
    const folder = new MemoryFolder();
    this.children.set(name, folder);
    return folder;
  }

  async removeEntry(name: string): Promise<void> {
    const entry = this.children.get(name);
    if (!entry) throw missing();
    if (entry instanceof MemoryFile && entry.isHeld) throw new DOMException('held', 'NoModificationAllowedError');
    this.children.delete(name);
  }

  async *keys(): AsyncIterableIterator<string> {
    if (this.#isMoved) throw missing();
    yield* [...this.children.keys()];
  }

  add(name: string, content = ''): MemoryFile {
    const file = new MemoryFile(this, name).write(content);
    this.children.set(name, file);
    return file;
  }

  get names(): string[] {
    return [...this.children.keys()].toSorted();
  }
}

/** Web Locks that are all exclusive. */
class MemoryLocks {
  readonly #held = new Map<string, Promise<unknown>>();

  async request(name: string, ...rest: unknown[]): Promise<unknown> {
    const work = rest.at(-1) as (lock: object | null) => unknown;
    const { ifAvailable, signal } = (rest.length > 1 ? rest[0] : {}) as { ifAvailable?: boolean; signal?: AbortSignal };
    if (this.#held.has(name) && ifAvailable) return work(null);
    while (this.#held.has(name)) await this.#wait(name, signal);
    const done = (async () => work({ name }))();
    this.#held.set(name, done);
    return done.finally(() => this.#held.delete(name));
  }

  async query(): Promise<{ held: { name: string }[] }> {
    return { held: [...this.#held.keys()].map((name) => ({ name })) };
  }

  #wait(name: string, signal: AbortSignal | undefined): Promise<unknown> {
    const free = this.#held.get(name)!.catch(() => {});
    if (!signal) return free;
    if (signal.aborted) return Promise.reject(signal.reason);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    return Promise.race([free, aborted]);
  }
}

/** Gives the test a new storage, in place of a browser's. */
export function stubStorage(): { root: MemoryFolder } {
  const root = new MemoryFolder();
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => root }, locks: new MemoryLocks() });
  return { root };
}

/** A handle of this storage, typed as the browser's. */
export const asFile = (file: MemoryFile) => file as unknown as FileSystemFileHandle;
export const asFolder = (folder: MemoryFolder) => folder as unknown as FileSystemDirectoryHandle;
