// Imports to a bucket: the page uploads by signed requests, and at the end this server lists the object as a disk.

import { randomUUID } from 'node:crypto';
import { checkDisk } from './disk.js';
import { Refusal } from './refusal.js';

const MOST_IMPORTS = 20;
/** The time-out of an import without requests, in milliseconds. A rule of the bucket removes its parts. */
const PATIENCE = 60 * 60_000;

export class BucketImports {
  isBucket = true;

  #presigner;
  #bucket;
  /** By ID: the name and size of the disk, and the URL of its object. */
  #imports = new Map();
  /** By ID: completed imports. */
  #disks = new Map();

  /** `bucket` is the URL of the bucket, or of a folder in it, with a trailing slash. */
  constructor(presigner, bucket) {
    this.#presigner = presigner;
    this.#bucket = bucket;
  }

  disks() {
    return [...this.#disks.values()];
  }

  begin({ name, size }) {
    checkDisk(name, size);
    if (this.#imports.size >= MOST_IMPORTS) throw new Refusal(503, 'Too many imports are under way; try again later');
    const id = randomUUID();
    const one = { name, size, object: new URL(`${id}.raw`, this.#bucket) };
    this.#imports.set(id, one);
    this.#wait(id, one);
    return { id };
  }

  async sign(id, request) {
    const one = this.#find(id);
    this.#wait(id, one);
    return { url: await this.#presigner.sign(one.object, request) };
  }

  /** Lists the object as a disk, if it is complete. Repeatable, since a page may lose the response. */
  async complete(id) {
    const disk = this.#disks.get(id);
    if (disk) return disk;
    const { name, size, object } = this.#find(id);
    const head = await fetch(await this.#presigner.sign(object, { action: 'head' }), { method: 'HEAD' });
    if (!head.ok || Number(head.headers.get('Content-Length')) !== size) {
      throw new Refusal(409, 'The disk did not arrive whole');
    }
    const made = { name, size };
    this.#disks.set(id, made);
    this.#end(id);
    return made;
  }

  #find(id) {
    const one = this.#imports.get(id);
    if (!one) throw new Refusal(404, 'This import has ended; begin it again');
    return one;
  }

  #end(id) {
    clearTimeout(this.#imports.get(id)?.timer);
    this.#imports.delete(id);
  }

  #wait(id, one) {
    clearTimeout(one.timer);
    one.timer = setTimeout(() => this.#end(id), PATIENCE);
    one.timer.unref();
  }
}
