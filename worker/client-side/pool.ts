// Pools: workers that run the jobs of any number of coordinators.

import { DecantError } from '../errors/errors.js';
import { RpcClient } from '../messages/rpc.js';
import type { PoolMethods } from '../worker-side/pool-methods.js';
import { provideCodecs } from './codecs.js';
import type { WorkerStarter } from './starter.js';
import { WarmWorkers } from './warm.js';

let nextConnection = 0;

/** The connections of one coordinator to the workers of a pool, for one conversion. */
export interface Connection {
  /** One port for each worker, to transfer to the coordinator. */
  ports: MessagePort[];
  /** Resolves when no worker has files of the conversion open. Never rejects. */
  close(): Promise<void>;
}

export class Pool extends WarmWorkers {
  readonly ready: Promise<void>;
  readonly #workers: RpcClient<PoolMethods>[];
  readonly #listeners = new Set<(sentence: string) => void>();

  constructor(
    starter: WorkerStarter,
    readonly size: number,
  ) {
    super();
    this.#workers = Array.from({ length: size }, () => new RpcClient<PoolMethods>(starter.spawn('workers')));
    for (const worker of this.#workers) {
      provideCodecs(worker, starter);
      worker.onDeath((sentence) => this.end(sentence));
    }
    this.ready = this.#start(starter.module('workers'));
    this.ready.catch((error) => this.end(error.message));
  }

  /** Calls `ended` with the reason when the workers end: their open calls are never answered then. */
  onEnd(ended: (sentence: string) => void): void {
    this.#listeners.add(ended);
    if (this.reasonOfEnd !== undefined) ended(this.reasonOfEnd);
  }

  offEnd(ended: (sentence: string) => void): void {
    this.#listeners.delete(ended);
  }

  /** Connects a conversion. Throws `internal` if the workers have ended. */
  connect(): Connection {
    if (this.reasonOfEnd !== undefined) throw new DecantError('internal', this.reasonOfEnd);
    const number = nextConnection++;
    const ports = this.#workers.map((worker) => {
      const { port1, port2 } = new MessageChannel();
      // The death of a worker ends the pool.
      worker.callMoving([port2], 'connect', number, port2).catch(() => {});
      return port1;
    });
    const close = async () => {
      await Promise.allSettled(this.#workers.map((worker) => worker.call('disconnect', number)));
    };
    return { ports, close };
  }

  async #start(module: Promise<WebAssembly.Module>): Promise<void> {
    const compiled = await module;
    await Promise.all(this.#workers.map((worker) => worker.call('startPoolWorker', compiled)));
  }

  protected async stop(sentence: string): Promise<void> {
    for (const ended of this.#listeners) ended(sentence);
    await Promise.all(this.#workers.map((worker) => worker.terminate(sentence)));
  }

  protected keepAlive(alive: boolean): void {
    for (const worker of this.#workers) worker.keepAlive(alive);
  }
}

/** Usable pools, by size. */
const pools = new Map<number, Pool>();

/** Acquires the pool of `size` workers. The caller must release it. */
export function acquirePool(starter: WorkerStarter, size: number): Pool {
  let pool = pools.get(size);
  if (!pool?.usable) {
    pool = new Pool(starter, size);
    pools.set(size, pool);
  }
  pool.use();
  return pool;
}
