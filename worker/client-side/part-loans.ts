// Lends pool workers to a coordinator while it decodes parts of a compressed file that is read in place.

import { toDecantError } from '../errors/errors.js';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER, type PartsWorker } from '../messages/messages.js';
import type { RpcClient } from '../messages/rpc.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import { acquirePool, type Connection, type Pool } from './pool.js';
import type { WorkerStarter } from './warm.js';

interface LentWorkers {
  pool: Pool;
  connection: Connection;
  /** Informs the coordinator that the workers have ended. */
  ended: (sentence: string) => void;
}

export class PartLoans {
  readonly #lent = new Map<number, LentWorkers>();
  /** Loans that begin or end. */
  readonly #changing = new Set<Promise<void>>();
  #hasEnded = false;

  constructor(
    private readonly client: RpcClient<CoordinatorMethods>,
    private readonly starter: WorkerStarter,
    /** The number of workers. */
    private readonly workers: number,
  ) {
    client.on(PARTS_BEGIN, (number) => this.#change(this.#begin(number as number)));
    client.on(PARTS_END, (number) => this.#change(this.#end(number as number)));
    client.on(PARTS_WORKER, (detail) => {
      const { number, at } = detail as PartsWorker;
      // The death of a worker ends the pool.
      this.#lent
        .get(number)
        ?.connection.begin(at)
        .catch(() => {});
    });
  }

  /** Takes all workers back, and lends none any more. Never rejects. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    for (const { ended } of this.#lent.values()) ended('The image was closed');
    await Promise.all([...this.#changing, ...[...this.#lent.keys()].map((number) => this.#end(number))]);
  }

  /** Stops to answer the coordinator, which is used for another image. */
  detach(): void {
    for (const event of [PARTS_BEGIN, PARTS_END, PARTS_WORKER]) this.client.off(event);
  }

  #change(change: Promise<void>): void {
    this.#changing.add(change);
    const done = () => this.#changing.delete(change);
    // Neither rejects.
    change.then(done, done);
  }

  async #begin(number: number): Promise<void> {
    const ended = (sentence: string) => {
      // A dead coordinator decodes nothing.
      this.client.call('endParts', number, sentence).catch(() => {});
    };
    const pool = acquirePool(this.starter, 'workers', this.workers);
    const failure = await pool.start().then(() => undefined, toDecantError);
    if (failure || this.#hasEnded) {
      pool.release(!failure);
      ended(failure?.message ?? 'The image was closed');
      return;
    }
    const connection = pool.connect();
    this.#lent.set(number, { pool, connection, ended });
    pool.onEnd(ended);
    const { ports } = connection;
    // A dead coordinator decodes nothing. The loan ends with the image.
    this.client.callMoving(ports, 'lendParts', number, ports).catch(() => {});
  }

  async #end(number: number): Promise<void> {
    const lent = this.#lent.get(number);
    this.#lent.delete(number);
    if (!lent) return;
    const { pool, connection, ended } = lent;
    pool.offEnd(ended);
    await connection.close();
    pool.release(pool.reasonOfEnd === undefined);
  }
}
