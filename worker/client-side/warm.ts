// Workers of the calling side: how they start, how they get codecs, and how they stay warm after their last use.

import { DecantError, toPlain } from '../errors/errors.js';
import { CODEC_NEEDED } from '../messages/messages.js';
import { type RpcClient, unexpectedEnd, type WorkerPort } from '../messages/rpc.js';
import type { Codec, Engine } from '../public/types.js';
import type { CodecMethods } from '../worker-side/wasm.js';

export interface WorkerStarter {
  /** Starts a worker for `engine`. */
  spawn(engine: Engine): WorkerPort;
  /** Compiles the wasm for `engine`. The result is cached. */
  module(engine: Engine): Promise<WebAssembly.Module>;
  /** Loads the wasm of a codec. The result is cached. */
  codec(name: Codec): Promise<Uint8Array>;
}

/** Answers the requests of the worker behind `client`. */
export function provideCodecs(client: RpcClient<CodecMethods>, starter: WorkerStarter): void {
  client.on(CODEC_NEEDED, (detail) => {
    const name = detail as Codec;
    const answer = starter.codec(name).then(
      (bytes) => client.call('provideCodec', name, bytes),
      (thrown) => client.call('refuseCodec', name, toPlain(thrown)),
    );
    // The worker has ended.
    answer.catch(() => {});
  });
}

/** How long workers stay after their last successful use, in milliseconds: enough to choose the next file. */
const WARM_MS = 10_000;

/** All workers that have not been ended. */
const running = new Set<WarmWorkers>();

/**
 * Ends all workers, even if they are in use: calls under way fail with `cancelled`. Resolves when they have stopped. Never
 * rejects.
 */
export async function endAllWorkers(): Promise<void> {
  const reason = new DecantError('cancelled', 'The operation was cancelled by dispose()');
  await Promise.all(
    [...running].map((workers) => {
      workers.end(reason);
      return workers.ended;
    }),
  );
}

/**
 * Workers with a count of their users. They stay for a short time after the last release, and end at once if they have failed
 * or were given up.
 */
export abstract class WarmWorkers {
  #users = 0;
  /** Users whose cancel was not obeyed in time. */
  #overdue = 0;
  #givenUp = false;
  #reasonOfEnd: DecantError | undefined;
  #ended: Promise<void> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    running.add(this);
  }

  /** Terminates the workers. Resolves when they have stopped. Work under way fails with `reason`. */
  protected abstract stop(reason: DecantError): Promise<void>;

  /** Node: sets whether the workers keep the process alive. */
  protected abstract keepAlive(alive: boolean): void;

  /** Whether the workers accept new work. */
  get usable(): boolean {
    return !this.#givenUp;
  }

  get users(): number {
    return this.#users;
  }

  use(): void {
    this.#users += 1;
    clearTimeout(this.#idle);
    this.keepAlive(true);
  }

  /** Ends one use. The last one ends the workers, too, unless it was `healthy`. `wasOverdue`: `overdue` was called for this use. */
  release(healthy: boolean, wasOverdue = false): void {
    this.#users -= 1;
    if (wasOverdue) this.#overdue -= 1;
    if (this.#users > 0) {
      this.#endIfStuck();
    } else if (!healthy || this.#givenUp) {
      this.end();
    } else {
      this.keepAlive(false);
      this.#idle = setTimeout(() => this.end(), WARM_MS);
      // Node: idle workers do not keep the process alive.
      if (typeof this.#idle === 'object') this.#idle.unref();
    }
  }

  /** Stops new work. */
  giveUp(): void {
    this.#givenUp = true;
  }

  /** Reports that one use did not end in time after a cancel. The workers end when no other uses are left. */
  overdue(): void {
    this.#overdue += 1;
    this.giveUp();
    this.#endIfStuck();
  }

  /** Ends the workers, even if they are in use. A sentence becomes an `internal` error. */
  end(reason: string | DecantError = unexpectedEnd('it was stopped')): void {
    clearTimeout(this.#idle);
    running.delete(this);
    this.giveUp();
    // A worker that stops reports its death, which calls this again.
    if (this.#reasonOfEnd) return;
    this.#reasonOfEnd = reason instanceof DecantError ? reason : new DecantError('internal', reason);
    this.#ended = this.stop(this.#reasonOfEnd);
  }

  /** Why the workers were ended, if they were. */
  get reasonOfEnd(): DecantError | undefined {
    return this.#reasonOfEnd;
  }

  /** Resolves when the workers have stopped; undefined if they were not ended. */
  get ended(): Promise<void> | undefined {
    return this.#ended;
  }

  #endIfStuck(): void {
    if (this.#overdue > 0 && this.#overdue === this.#users) this.end();
  }
}
