// Pools: workers that run the jobs of any number of coordinators, and are lent to a coordinator while it decodes parts of a compressed file
// that is read in place.

import { type DecantError, toDecantError } from '../errors/errors.js';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER, type PartsWorker } from '../messages/messages.js';
import { RpcClient } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import type { PoolMethods } from '../worker-side/pool-methods.js';
import { ENGINES } from './package-files.js';
import { provideCodecs, WarmWorkers, type WorkerStarter } from './warm.js';

/** The size of files in bytes that are worth all workers from the start. */
export const WORTH_ALL = 4 << 20;

let nextConnection = 0;

/** The connections of one coordinator to the workers of a pool, for one conversion. */
export interface Connection {
  /** One port for each worker, to transfer to the coordinator. They keep messages until `begin`. */
  ports: MessagePort[];
  /** Starts the worker with this number if necessary, and connects it. Rejects, and ends the pool, if it does not start. */
  begin(at: number): Promise<void>;
  /** Resolves when no worker has files of the conversion open. Never rejects. */
  close(): Promise<void>;
}

export class Pool extends WarmWorkers {
  readonly #clients: RpcClient<PoolMethods>[] = [];
  /** By number: a worker is started when it is first needed. */
  readonly #workers: Promise<RpcClient<PoolMethods>>[] = [];
  readonly #listeners = new Set<(sentence: string) => void>();

  /** `size` is the number of workers or threads that decode. */
  constructor(
    private readonly starter: WorkerStarter,
    private readonly engine: Engine,
    readonly size: number,
  ) {
    super();
  }

  /** How many workers the calling side starts. */
  get #count(): number {
    return ENGINES[this.engine].isOneWorker ? 1 : this.size;
  }

  /** Starts all workers. Resolves when they are ready. */
  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.#count }, (_, at) => this.#worker(at)));
  }

  /** Calls `ended` with the reason when the workers end: their open calls are never answered then. */
  onEnd(ended: (sentence: string) => void): void {
    this.#listeners.add(ended);
    if (this.reasonOfEnd) ended(this.reasonOfEnd.message);
  }

  offEnd(ended: (sentence: string) => void): void {
    this.#listeners.delete(ended);
  }

  /** Connects a conversion. */
  connect(): Connection {
    const number = nextConnection++;
    const channels = Array.from({ length: this.#count }, () => new MessageChannel());
    const started: Promise<RpcClient<PoolMethods>>[] = [];
    const begin = async (at: number) => {
      started[at] = this.#worker(at);
      const worker = await started[at];
      const { port2 } = channels[at]!;
      await worker.callMoving([port2], 'connect', number, port2);
    };
    const close = async () => {
      await Promise.allSettled(started.map(async (worker) => (await worker).call('disconnect', number)));
    };
    return { ports: channels.map(({ port1 }) => port1), begin, close };
  }

  #worker(at: number): Promise<RpcClient<PoolMethods>> {
    this.#workers[at] ??= this.#start();
    return this.#workers[at];
  }

  /** Starts a worker. Resolves when it is ready. If that fails, the pool ends. */
  async #start(): Promise<RpcClient<PoolMethods>> {
    if (this.reasonOfEnd) throw this.reasonOfEnd;
    try {
      const client = new RpcClient<PoolMethods>(this.starter.spawn(this.engine));
      this.#clients.push(client);
      provideCodecs(client, this.starter);
      client.onDeath((sentence) => this.end(sentence));
      await client.call('startPoolWorker', await this.starter.module(this.engine), this.size);
      return client;
    } catch (thrown) {
      this.end(toDecantError(thrown).message);
      throw thrown;
    }
  }

  protected async stop(reason: DecantError): Promise<void> {
    for (const ended of this.#listeners) ended(reason.message);
    await Promise.all(this.#clients.map((client) => client.terminate(reason)));
  }

  protected keepAlive(alive: boolean): void {
    for (const client of this.#clients) client.keepAlive(alive);
  }
}

/** Usable pools, by engine and size. */
const pools = new Map<string, Pool>();

/** Returns a usable pool of `size` workers or threads. */
function usablePool(starter: WorkerStarter, engine: Engine, size: number): Pool {
  const key = `${engine}:${size}`;
  let pool = pools.get(key);
  if (!pool?.usable) {
    pool = new Pool(starter, engine, size);
    pools.set(key, pool);
  }
  return pool;
}

/** Starts all workers of the pool of `size` workers. Resolves when they are ready. */
export async function startPool(starter: WorkerStarter, engine: Engine, size: number): Promise<void> {
  const pool = usablePool(starter, engine, size);
  pool.use();
  try {
    await pool.start();
  } finally {
    pool.release(true);
  }
}

/** Acquires the pool of `size` workers for a conversion. The caller must release it. */
export function acquirePool(starter: WorkerStarter, engine: Engine, size: number): Pool {
  const pool = usablePool(starter, engine, size);
  pool.use();
  // A pool of an engine with one worker runs one conversion only.
  if (ENGINES[engine].isOneWorker) pool.giveUp();
  return pool;
}

interface LentWorkers {
  pool: Pool;
  connection: Connection;
  /** Informs the coordinator that the workers have ended. */
  ended: (sentence: string) => void;
}

/** Lends pool workers to a coordinator while it decodes parts of a compressed file. */
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

  /** Stops answering the coordinator, which may be used for another image. */
  detach(): void {
    for (const event of [PARTS_BEGIN, PARTS_END, PARTS_WORKER]) this.client.off(event);
  }

  #change(change: Promise<void>): void {
    this.#changing.add(change);
    const done = () => this.#changing.delete(change);
    // Neither promise rejects.
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
