// A coordinator, from the calling side: the worker that has an image open.

import { RpcClient, unexpectedEnd } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import type { WorkerStarter } from './starter.js';
import { WarmWorkers } from './warm.js';

let nextOperation = 0;

/** A number by which a coordinator can be told to stop one operation: no two have the same. */
export const newOperation = (): number => nextOperation++;

export class Coordinator extends WarmWorkers {
  readonly ready: Promise<void>;
  readonly #client: RpcClient<CoordinatorMethods>;
  /** Those who only wait until it is ready. */
  #starters = 0;

  /** `threads` is the size of its own pool of threads, 0 without one. */
  constructor(starter: WorkerStarter, engine: Engine, threads: number) {
    super();
    this.#client = new RpcClient<CoordinatorMethods>(starter.spawn(engine));
    this.#client.on('died', (reason) => this.end(unexpectedEnd(String(reason))));
    this.#client.onDeath((sentence) => this.end(sentence));
    this.ready = this.#start(starter.module(engine), threads);
    this.ready.catch((error) => this.end(error.message));
  }

  /** Whether nobody has an image open by it. */
  get isFree(): boolean {
    return this.users === this.#starters;
  }

  /** Waits until it is ready; an image may be opened by it meanwhile. */
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

/** Returns a coordinator of `engine` that has no image open. `workers` is the size of its pool of threads, if it has one. */
export function freeCoordinator(starter: WorkerStarter, engine: Engine, workers: number): Coordinator {
  const threads = engine === 'threads' ? workers : 0;
  const key = `${threads}:${engine}`;
  const known = coordinators.get(key) ?? new Set();
  coordinators.set(key, known);
  for (const coordinator of known) if (!coordinator.usable) known.delete(coordinator);
  const free = [...known].find(({ isFree }) => isFree);
  const coordinator = free ?? new Coordinator(starter, engine, threads);
  known.add(coordinator);
  return coordinator;
}

/** Acquires such a coordinator for one use; the caller releases it. */
export function acquireCoordinator(starter: WorkerStarter, engine: Engine, workers: number): Coordinator {
  const coordinator = freeCoordinator(starter, engine, workers);
  coordinator.use();
  return coordinator;
}
