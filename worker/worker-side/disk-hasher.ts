// The SHA-256 of disks, for the crate (`crate/src/js/workers/disk_hasher.rs`): of their bytes in ascending order, zeros too.

import { nextTask } from '../errors/signals.js';

/** An incremental SHA-256. */
export interface Hash {
  add(bytes: Uint8Array): void;
  /** Ends it. Returns the digest. */
  end(): Uint8Array;
}

/** The most bytes that are hashed at once, which takes some milliseconds. */
const AT_ONCE = 1 << 20;
const ZEROS = new Uint8Array(AT_ONCE);

/** How long it may hash before the worker handles messages, such as a cancel or the reply to a job, in milliseconds. */
const TURN_MS = 10;

export class DiskHasher {
  #hash: Hash;
  #turnBegan = performance.now();

  /** `begin` returns a new hash for each disk. */
  constructor(private readonly begin: () => Hash) {
    this.#hash = begin();
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += AT_ONCE) {
      this.#hash.add(bytes.subarray(at, at + AT_ONCE));
      await this.#rest();
    }
  }

  async addZeros(length: number): Promise<void> {
    for (let left = length; left > 0; left -= AT_ONCE) {
      this.#hash.add(left < AT_ONCE ? ZEROS.subarray(0, left) : ZEROS);
      await this.#rest();
    }
  }

  /** Ends a disk. Returns its digest; the next one begins. */
  end(): Uint8Array {
    const digest = this.#hash.end();
    this.#hash = this.begin();
    return digest;
  }

  /** Lets the worker handle its messages, if it is time. */
  async #rest(): Promise<void> {
    if (performance.now() - this.#turnBegan < TURN_MS) return;
    await nextTask();
    this.#turnBegan = performance.now();
  }
}
