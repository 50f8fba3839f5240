// An image as one coordinator has it open, from the calling side.

import { cancelled, orCancelled, toDecantError } from '../errors/errors.js';
import type { RpcClient } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import type { Loan } from '../sources/loan.js';
import type { ImageSettings, Sources } from '../sources/sources.js';
import type { CoordinatorMethods, OpenResult } from '../worker-side/coordinator-methods.js';
import { acquireCoordinator, type Coordinator, newOperation } from './coordinator.js';
import type { WorkerStarter } from './starter.js';

/** How long an operation may take to end after a cancel, in milliseconds. Then the pool is ended. */
const STOP_TIME = 600;
/** How long after that the coordinator is ended, in milliseconds. */
const MORE_TIME = 150;

/** What else has a part in an operation, as a pool has. */
interface RunHooks {
  /** Called where the operation has not ended in time after a cancel. Returns whether the coordinator may be ended. */
  overdue?: () => boolean;
  /** Whether a failure of kind `internal` is the fault of another part. */
  isElsewhere?: () => boolean;
}

/** By what an image is opened. */
export interface ImageSetup {
  starter: WorkerStarter;
  sources: Sources;
  settings: ImageSettings;
  engine: Engine;
  /** Why this engine, in a few words. */
  engineReason: string;
  workers: number;
}

export class Session {
  /** Operations under way. */
  #operations = 0;
  /** Those of them that were cancelled and have not obeyed in time. */
  #overdue = 0;
  /** How many users have it: see `hold`. */
  #users = 0;
  /** Resolves when it has ended; undefined before it begins to. */
  #ended: Promise<void> | undefined;
  /** Called when it has ended. */
  onEnd: (() => void) | undefined;
  /** Whether nothing new begins on it. */
  #givenUp = false;
  /** Whether its coordinator serves no other image: it has failed, or holds memory that only its end gives back. */
  #isSpent = false;

  private constructor(
    private readonly coordinator: Coordinator,
    /** The sources, as the coordinator has them. */
    private readonly loan: Loan,
    /** The image, as the coordinator has opened it. */
    readonly opened: OpenResult,
  ) {}

  /** Opens the image. Only when the session has ended may the sources be closed, whatever came of it. */
  static async open(setup: ImageSetup, signal?: AbortSignal): Promise<Session> {
    const { starter, sources, settings, engine, workers } = setup;
    const coordinator = acquireCoordinator(starter, engine, workers);
    const loan = sources.lend(settings);
    try {
      await orCancelled(signal, coordinator.ready);
      return new Session(coordinator, loan, await openOn(coordinator, loan, signal));
    } catch (thrown) {
      const error = toDecantError(thrown);
      coordinator.release(error.kind !== 'internal');
      // What is being ended may still read.
      await coordinator.ended;
      loan.end();
      throw loan.explain(error);
    }
  }

  get client(): RpcClient<CoordinatorMethods> {
    return this.coordinator.client;
  }

  /** The image's number there. */
  get image(): number {
    return this.opened.image;
  }

  /** Whether new operations may begin on it. */
  get usable(): boolean {
    return !this.#givenUp && this.coordinator.usable;
  }

  /** Keeps it open for one more user, until `release`. */
  hold(): void {
    this.#users += 1;
  }

  async release(): Promise<void> {
    this.#users -= 1;
    await this.#endIfUnused();
  }

  /** Nothing new begins on it: it ends when nobody holds it any more. */
  async giveUp(): Promise<void> {
    this.#spend();
    await this.#endIfUnused();
  }

  /** Whatever is read for it is given up: it is about to end. */
  cancelReads(): void {
    this.loan.cancel();
  }

  /**
   * Runs `work` as an operation, whose number it gets. When `signal` is aborted, the coordinator is told to stop that
   * operation; it is ended where it does not obey in time, unless operations are left there that were not cancelled. After
   * a failure of kind `internal` nothing new begins on the session.
   *
   * Fails with `cancelled` after a cancel, else as `work` does; where a source of the caller's has thrown, what it threw is
   * the cause. When it has settled, nothing of an ended coordinator runs any more.
   */
  async run<T>(
    signal: AbortSignal,
    work: (operation: number) => Promise<T>,
    { overdue = () => true, isElsewhere = () => false }: RunHooks = {},
  ): Promise<T> {
    if (signal.aborted) throw cancelled();
    const operation = newOperation();
    let isOverdue = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const giveUp = () => {
      isOverdue = true;
      this.#overdue += 1;
      this.#spend();
      this.#endIfStuck();
    };
    const stop = () => {
      // One that is dead runs nothing any more.
      this.client.call('cancel', operation).catch(() => {});
      timer = setTimeout(() => {
        if (overdue()) timer = setTimeout(giveUp, MORE_TIME);
      }, STOP_TIME);
    };
    this.#operations += 1;
    signal.addEventListener('abort', stop);
    try {
      return await work(operation);
    } catch (thrown) {
      const error = toDecantError(thrown);
      if (error.kind === 'internal' && !isElsewhere()) this.#spend();
      throw signal.aborted ? cancelled() : this.loan.explain(error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      this.#operations -= 1;
      if (isOverdue) this.#overdue -= 1;
      this.#endIfStuck();
      await this.coordinator.ended;
    }
  }

  /** Lets the coordinator go, whoever holds it. Resolves when nothing of the image is read any more; never rejects. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#givenUp = true;
    this.loan.cancel();
    // One that is dead holds no image any more.
    await this.client.call('close', this.image).catch(() => {});
    this.coordinator.release(this.client.alive && !this.#isSpent);
    await this.coordinator.ended;
    this.loan.end();
    this.onEnd?.();
  }

  /** Nothing new begins on it, and its coordinator serves no other image. */
  #spend(): void {
    this.#givenUp = true;
    this.#isSpent = true;
  }

  async #endIfUnused(): Promise<void> {
    if (this.#givenUp && this.#users === 0) await this.end();
  }

  /** Ends the coordinator if all operations there are overdue. */
  #endIfStuck(): void {
    if (this.#overdue > 0 && this.#overdue === this.#operations) this.coordinator.end();
  }
}

/**
 * Opens the image on `coordinator`. After a cancel it settles only when nothing is read any more: then the files may be
 * closed.
 */
async function openOn(coordinator: Coordinator, loan: Loan, signal: AbortSignal | undefined): Promise<OpenResult> {
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    loan.cancel();
    overdue = setTimeout(() => coordinator.end(), STOP_TIME);
  };
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  try {
    const opened = await coordinator.client.callMoving(loan.ports, 'open', loan.image);
    if (!signal?.aborted) return opened;
    await coordinator.client.call('close', opened.image);
    throw cancelled();
  } catch (thrown) {
    throw signal?.aborted ? cancelled() : thrown;
  } finally {
    clearTimeout(overdue);
    signal?.removeEventListener('abort', stop);
  }
}
