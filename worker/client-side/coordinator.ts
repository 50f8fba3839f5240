// Starts and shares coordinators: workers that each have one image open, and during a conversion of several disks their images.

import type { DecantError } from '../errors/errors.js';
import { RpcClient } from '../messages/rpc.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import { provideCodecs, WarmWorkers, type WorkerStarter } from './warm.js';

let nextOperation = 0;

/** Returns a unique number, by which an operation can be cancelled. */
export const newOperation = (): number => nextOperation++;

export class Coordinator extends WarmWorkers {
  /** Resolves when the coordinator can be used. Rejects if it did not start. */
  readonly ready: Promise<void>;
  readonly #client: RpcClient<CoordinatorMethods>;
  /** Users that only wait for the start, and open no image. */
  #starters = 0;
  /** Operations under way. */
  #operations = 0;
  /** Cancelled operations that did not end in time. */
  #late = 0;

  constructor(starter: WorkerStarter) {
    // Before super(), which adds this to the running workers: if spawning fails, there is nothing to end.
    const port = starter.spawn('workers');
    super();
    this.#client = new RpcClient<CoordinatorMethods>(port);
    provideCodecs(this.#client, starter);
    this.#client.onDeath((sentence) => this.end(sentence));
    this.ready = this.#start(starter.module('workers'));
    this.ready.catch((error) => this.end(error.message));
  }

  /** Whether nobody uses the coordinator, except to wait for its start. */
  get isFree(): boolean {
    return this.users === this.#starters;
  }

  /** Resolves when the coordinator is ready. Does not occupy it: an image may be opened in it at the same time. */
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

  /** Counts an operation, which `endOperation` must end. */
  beginOperation(): void {
    this.#operations += 1;
  }

  /** `wasLate`: `late` was called for the operation. */
  endOperation(wasLate: boolean): void {
    this.#operations -= 1;
    if (wasLate) this.#late -= 1;
    this.#endIfStuck();
  }

  /** Reports that an operation did not end in time after a cancel. The coordinator ends if it has no other operations. */
  late(): void {
    this.#late += 1;
    this.#endIfStuck();
  }

  #endIfStuck(): void {
    if (this.#late > 0 && this.#late === this.#operations) this.end();
  }

  async #start(module: Promise<WebAssembly.Module>): Promise<void> {
    await this.#client.call('startCoordinator', await module);
  }

  protected stop(reason: DecantError): Promise<void> {
    return this.#client.terminate(reason);
  }

  protected keepAlive(alive: boolean): void {
    this.#client.keepAlive(alive);
  }
}

const coordinators = new Set<Coordinator>();

/** Removes the coordinators that accept no new work, and returns the others. */
function usable(): Set<Coordinator> {
  for (const coordinator of coordinators) if (!coordinator.usable) coordinators.delete(coordinator);
  return coordinators;
}

/** Returns a free coordinator. Starts one if there is none. */
export function freeCoordinator(starter: WorkerStarter): Coordinator {
  const free = [...usable()].find(({ isFree }) => isFree);
  const coordinator = free ?? new Coordinator(starter);
  coordinators.add(coordinator);
  return coordinator;
}

/**
 * Runs `work` in any coordinator, even one with an open image. Starts one only if there is none. As long as `work` runs, the
 * coordinator is not ended because of an operation that ignores its cancel.
 */
export async function inAnyCoordinator<T>(
  starter: WorkerStarter,
  work: (client: Coordinator['client']) => Promise<T>,
): Promise<T> {
  const [coordinator = freeCoordinator(starter)] = usable();
  coordinator.use();
  coordinator.beginOperation();
  try {
    await coordinator.ready;
    return await work(coordinator.client);
  } finally {
    coordinator.endOperation(false);
    coordinator.release(true);
  }
}

/** Returns a free coordinator, as `freeCoordinator` does, and marks it as used. The caller must release it. */
export function acquireCoordinator(starter: WorkerStarter): Coordinator {
  const coordinator = freeCoordinator(starter);
  coordinator.use();
  return coordinator;
}
