// Coordinators on the calling side: workers that each have one image open.

import { RpcClient, unexpectedEnd } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import { provideCodecs } from './codecs.js';
import type { WorkerStarter } from './starter.js';
import { WarmWorkers } from './warm.js';

let nextOperation = 0;

/** Returns a unique number, by which an operation can be cancelled. */
export const newOperation = (): number => nextOperation++;

export class Coordinator extends WarmWorkers {
  /** Resolves when it can be used. Rejects if it did not start. */
  readonly ready: Promise<void>;
  readonly #client: RpcClient<CoordinatorMethods>;
  /** Users that only wait until it is ready. */
  #starters = 0;

  /** `threads` is the size of its thread pool, 0 for none. */
  constructor(starter: WorkerStarter, engine: Engine, threads: number) {
    super();
    this.#client = new RpcClient<CoordinatorMethods>(starter.spawn(engine));
    provideCodecs(this.#client, starter);
    this.#client.on('died', (reason) => this.end(unexpectedEnd(String(reason))));
    this.#client.onDeath((sentence) => this.end(sentence));
    this.ready = this.#start(starter.module(engine), threads);
    this.ready.catch((error) => this.end(error.message));
  }

  /** Whether it has no image open. */
  get isFree(): boolean {
    return this.users === this.#starters;
  }

  /** Resolves when it is ready. It stays free: an image may be opened in it at the same time. */
  async prepare(): Promise<void> {
    this.use();
    this.#starters += 1;
    try {
      await this.ready;
    } finally {
      this.#starters -= 1;
      this.release(true);
    }
  }

  get client(): RpcClient<CoordinatorMethods> {
    return this.#client;
  }

  async #start(module: Promise<WebAssembly.Module>, threads: number): Promise<void> {
    await this.#client.call('startCoordinator', await module, threads);
  }

  protected stop(sentence: string): Promise<void> {
    return this.#client.terminate(sentence);
  }

  protected keepAlive(alive: boolean): void {
    this.#client.keepAlive(alive);
  }
}

const coordinators = new Map<string, Set<Coordinator>>();

/** Returns the usable coordinators of `engine` with a thread pool of `threads`. */
function usable(engine: Engine, threads: number): Set<Coordinator> {
  const key = `${threads}:${engine}`;
  const known = coordinators.get(key) ?? new Set();
  coordinators.set(key, known);
  for (const coordinator of known) if (!coordinator.usable) known.delete(coordinator);
  return known;
}

/** Returns a coordinator of `engine` without an open image. `workers` is the size of its thread pool, if it has one. */
export function freeCoordinator(starter: WorkerStarter, engine: Engine, workers: number): Coordinator {
  const threads = engine === 'threads' ? workers : 0;
  const known = usable(engine, threads);
  const free = [...known].find(({ isFree }) => isFree);
  const coordinator = free ?? new Coordinator(starter, engine, threads);
  known.add(coordinator);
  return coordinator;
}

/**
 * Returns a coordinator of the `workers` engine, preferably one that has started, even with an open image, and marks it as used.
 * The caller must release it.
 */
export function acquireAnyCoordinator(starter: WorkerStarter): Coordinator {
  const [started = freeCoordinator(starter, 'workers', 0)] = usable('workers', 0);
  started.use();
  return started;
}

/** Returns a free coordinator, as `freeCoordinator` does, and marks it as used. The caller must release it. */
export function acquireCoordinator(starter: WorkerStarter, engine: Engine, workers: number): Coordinator {
  const coordinator = freeCoordinator(starter, engine, workers);
  coordinator.use();
  return coordinator;
}
