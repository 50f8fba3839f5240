// Disks on this server, and pending imports. Each import is a sparse file until it is complete.

import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDisk } from './disk.js';
import { Refusal } from './refusal.js';

/** In bytes: small enough for a page to process without a pause. */
const PART = 2 ** 20;
const MOST_IMPORTS = 20;
/** The time-out of an import without requests, in milliseconds. */
const PATIENCE = 10 * 60_000;

export class Imports {
  isBucket = false;

  #folder;
  /** By ID: the open file, the received parts, the number of pending writes. */
  #imports = new Map();
  /** By ID: disks of completed imports, since a page may lose the response. */
  #complete = new Map();

  /** Removes incomplete imports of an earlier run. */
  static async in(folder) {
    const imports = new Imports(folder);
    await rm(join(folder, 'incoming'), { recursive: true, force: true });
    for (const name of ['incoming', 'disks']) await mkdir(join(folder, name), { recursive: true });
    return imports;
  }

  constructor(folder) {
    this.#folder = folder;
  }

  async disks() {
    const names = await readdir(join(this.#folder, 'disks'));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(this.#folder, 'disks', name))).size));
    return names.map((name, at) => ({ name, size: sizes[at] }));
  }

  async begin({ name, size }) {
    checkDisk(name, size);
    if (this.#imports.size >= MOST_IMPORTS) throw new Refusal(503, 'Too many imports are under way; try again later');
    const id = randomUUID();
    const path = join(this.#folder, 'incoming', id);
    const file = await open(path, 'wx');
    await file.truncate(size);
    const one = { name, size, path, file, parts: new Set(), writing: new Set(), isEnding: false };
    this.#imports.set(id, one);
    this.#wait(id, one);
    return { id, partSize: PART };
  }

  /** Returns the size of part `number`. */
  lengthOf(id, number) {
    const { size } = this.#find(id);
    const length = Math.min(PART, size - number * PART);
    if (!Number.isSafeInteger(number) || number < 0 || length <= 0) throw new Refusal(404, 'The disk has no such part');
    return length;
  }

  async write(id, number, bytes) {
    const one = this.#find(id);
    this.#wait(id, one);
    const writing = one.file.write(bytes, 0, bytes.length, number * PART);
    one.writing.add(writing);
    try {
      const { bytesWritten } = await writing;
      if (bytesWritten !== bytes.length) throw new Refusal(507, 'The disk of the server is full');
      one.parts.add(number);
    } finally {
      one.writing.delete(writing);
    }
  }

  /** Renames the file to the disk's name, if all `parts` have arrived and no other disk has the name. */
  async complete(id, { parts }) {
    const disk = this.#complete.get(id);
    if (disk) return disk;
    const one = this.#find(id);
    if (one.writing.size > 0 || one.parts.size !== parts) throw new Refusal(409, 'Parts of the disk are missing');
    one.isEnding = true;
    try {
      await one.file.sync();
      await link(one.path, join(this.#folder, 'disks', one.name));
    } catch (thrown) {
      one.isEnding = false;
      if (thrown.code !== 'EEXIST') throw thrown;
      throw new Refusal(409, `There is a disk called ${one.name} already; give the image another name`);
    }
    const made = { name: one.name, size: one.size };
    this.#complete.set(id, made);
    await this.#end(id, one);
    return made;
  }

  async remove(id) {
    const one = this.#find(id);
    one.isEnding = true;
    await this.#end(id, one);
  }

  #find(id) {
    const one = this.#imports.get(id);
    if (!one || one.isEnding) throw new Refusal(404, 'This import has ended; begin it again');
    return one;
  }

  async #end(id, one) {
    clearTimeout(one.timer);
    this.#imports.delete(id);
    await Promise.allSettled(one.writing);
    await one.file.close();
    await unlink(one.path);
  }

  #wait(id, one) {
    clearTimeout(one.timer);
    one.timer = setTimeout(() => void this.remove(id).catch(console.error), PATIENCE);
    one.timer.unref();
  }
}
