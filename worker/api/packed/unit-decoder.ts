// Decodes units of a compressed file in pool workers.

import { acquirePool, type Connection, type Pool } from '../../client-side/pool.js';
import type { WorkerStarter } from '../../client-side/starter.js';
import type { Bytes } from '../../public/types.js';
import { Dispatcher } from '../../worker-side/dispatcher.js';
import type { PackedIndex } from './packed-index.js';

/** The decoded data of a unit. */
export interface DecodedUnit {
  /** Its size in bytes. */
  size: number;
  /** Begins with the data; empty if it is all zeros. */
  bytes: Bytes;
}

/** The core's numbers of containers, in the order of its registry (`crate/src/container/mod.rs`). */
const CONTAINERS: PackedIndex['container'][] = ['gzip', 'xz', 'zstd', 'bzip2'];
/**
 * The core's task of decoding a part (`Task::DecodePart` in `crate/src/js/task.rs`). The number of the container follows, and
 * whether memory for the data comes with the part.
 */
const DECODE_PART = 1;
const NO_ROOM = 0;
/** Length of the estimated size before each part: zero is a valid estimate. */
export const PART_HEAD = 8;

interface Connected {
  connection: Connection;
  dispatcher: Dispatcher;
  /** Fails the units that are being decoded. */
  fail: (sentence: string) => void;
}

/** Workers in use. */
class WorkersInUse {
  users = 0;
  readonly #pool: Pool;
  readonly #connected: Promise<Connected>;

  constructor(starter: WorkerStarter, workers: number) {
    this.#pool = acquirePool(starter, 'workers', workers);
    this.#connected = this.#connect();
  }

  async run(task: Uint8Array, part: Bytes[]): Promise<DecodedUnit> {
    const { dispatcher } = await this.#connected;
    const { read, bytes } = (await dispatcher.run(task, part)) as { read: number; bytes: Bytes };
    return { size: read, bytes };
  }

  get haveEnded(): boolean {
    return this.#pool.reasonOfEnd !== undefined;
  }

  async release(): Promise<void> {
    // The users have got the failure.
    const connected = await this.#connected.catch(() => undefined);
    if (connected) {
      this.#pool.offEnd(connected.fail);
      connected.dispatcher.end();
      await connected.connection.close();
    }
    this.#pool.release(!this.haveEnded);
  }

  async #connect(): Promise<Connected> {
    await this.#pool.start();
    const connection = this.#pool.connect();
    // The death of a worker ends the pool.
    const begin = (at: number) => void connection.begin(at).catch(() => {});
    const dispatcher = new Dispatcher(connection.ports, [], begin);
    dispatcher.attachment = { files: [], keys: undefined, target: undefined };
    const fail = (sentence: string) => dispatcher.fail(sentence);
    this.#pool.onEnd(fail);
    return { connection, dispatcher, fail };
  }
}

export class UnitDecoder {
  #inUse: WorkersInUse | undefined;

  constructor(
    private readonly starter: WorkerStarter,
    /** The number of workers. */
    readonly workers: number,
  ) {}

  /**
   * Decodes `part`, the pieces of a complete file of `container` after `PART_HEAD` bytes, and takes their memory. Fails as the core
   * does, and with `internal` if the workers end.
   */
  async decode(container: PackedIndex['container'], part: Bytes[]): Promise<DecodedUnit> {
    // Workers that have ended are not used again.
    if (!this.#inUse || this.#inUse.haveEnded) this.#inUse = new WorkersInUse(this.starter, this.workers);
    const inUse = this.#inUse;
    inUse.users += 1;
    try {
      return await inUse.run(Uint8Array.of(DECODE_PART, CONTAINERS.indexOf(container), NO_ROOM), part);
    } finally {
      inUse.users -= 1;
      if (inUse.users === 0) {
        if (this.#inUse === inUse) this.#inUse = undefined;
        await inUse.release();
      }
    }
  }
}
