// A session: an image that is open in one coordinator, on the calling side.

import { cancelled, DecantError, orCancelled, toDecantError } from '../errors/errors.js';
import type { OpenResult, OtherAnswer } from '../messages/coordinator.js';
import { MEASURED } from '../messages/messages.js';
import type { RpcClient } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import type { Loan } from '../sources/opened-source.js';
import type { ImageSettings, Sources } from '../sources/sources.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import { acquireCoordinator, type Coordinator, newOperation } from './coordinator.js';
import { PartLoans } from './pool.js';
import type { WorkerStarter } from './warm.js';

/** How long an operation may take to end after a cancel, in milliseconds. After this time, the pool is ended. */
const STOP_MS = 600;
/** How much later than the pool the coordinator is ended, in milliseconds. */
const EXTRA_STOP_MS = 150;

/** Callbacks for an operation that also runs outside of the coordinator, in a pool. */
interface RunHooks {
  /** Called if the operation does not end in time after a cancel. Returns whether the coordinator may be ended. */
  overdue?: () => boolean;
  /** Whether an `internal` failure came from outside of the coordinator. */
  isElsewhere?: () => boolean;
}

/** Everything needed to open an image. */
export interface ImageSetup {
  starter: WorkerStarter;
  sources: Sources;
  settings: ImageSettings;
  engine: Engine;
  /** Why this engine was chosen, in a few words. */
  engineReason: string;
  workers: number;
}

export class ImageSession {
  /** The number of users: see `hold`. */
  #users = 0;
  /** Resolves when the session has ended; undefined until `end` is called. */
  #ended: Promise<void> | undefined;
  /** Called when the session has ended. */
  onEnd: (() => void) | undefined;
  /** Whether the session accepts no new operations. */
  #givenUp = false;
  /** Whether the coordinator must not be reused: it has failed, or must end to free its memory. */
  #isSpent = false;

  private constructor(
    private readonly coordinator: Coordinator,
    /** The sources that were lent to the coordinator. */
    private readonly loan: Loan,
    /** Missing in the coordinator of another session, whose workers decode the parts. */
    private readonly parts: PartLoans | undefined,
    /** The coordinator's answer to `open`. */
    readonly opened: OpenResult,
  ) {}

  /** Like `openFile`. Fails with `unsupported` for a configuration, and with `usage` if a disk must be chosen. */
  static async open(
    setup: ImageSetup,
    signal?: AbortSignal,
    measured?: (share: number) => void,
  ): Promise<ImageSession> {
    return sessionOf(await ImageSession.openFile(setup, signal, measured));
  }

  /** Like `open`, in the coordinator of `host`, a session of another image. */
  static async openBeside(setup: ImageSetup, host: ImageSession, signal: AbortSignal): Promise<ImageSession> {
    return sessionOf(await ImageSession.openFile(setup, signal, undefined, host));
  }

  /**
   * Opens the image, or a file to be unpacked, or resolves to another answer of the coordinator. The sources must stay open
   * until the session has ended, or until `openFile` settles otherwise. `measured` gets the finished share while parts of a compressed file
   * are decoded to know their sizes. With `host`, opens it in the coordinator of that session, which must end later.
   */
  static async openFile(
    setup: ImageSetup,
    signal?: AbortSignal,
    measured: (share: number) => void = () => {},
    host?: ImageSession,
  ): Promise<ImageSession | OtherAnswer> {
    const { starter, sources, settings, workers } = setup;
    const coordinator = host ? host.coordinator : acquireCoordinator(starter);
    if (host) coordinator.use();
    const loan = sources.lend(settings);
    const { client } = coordinator;
    const parts = host ? undefined : new PartLoans(client, starter, workers);
    client.on(MEASURED, (share) => measured(share as number));
    try {
      await orCancelled(signal, coordinator.ready);
      const cancel = () => {
        loan.cancel();
        // Never rejects.
        parts?.end().catch(() => {});
      };
      const opened = await openOn(coordinator, loan, workers, cancel, signal);
      if ('image' in opened) return new ImageSession(coordinator, loan, parts, opened);
      await parts?.end();
      parts?.detach();
      coordinator.release(true);
      loan.end();
      return opened;
    } catch (thrown) {
      const error = toDecantError(thrown);
      await parts?.end();
      parts?.detach();
      coordinator.release(error.kind !== 'internal');
      // A coordinator that is being terminated may still read.
      await coordinator.ended;
      loan.end();
      throw loan.explain(error);
    }
  }

  get client(): RpcClient<CoordinatorMethods> {
    return this.coordinator.client;
  }

  /** The image's number in the coordinator. */
  get image(): number {
    return this.opened.image;
  }

  /** The error for a caller without room, if it is a file to be unpacked. */
  get roomNeeded(): DecantError | undefined {
    const { roomNeeded } = this.opened;
    return roomNeeded && this.loan.explain(toDecantError(roomNeeded));
  }

  /** Whether the session accepts new operations. */
  get usable(): boolean {
    return !this.#givenUp && this.coordinator.usable;
  }

  /** Adds a user, which keeps the session open until `release`. */
  hold(): void {
    this.#users += 1;
  }

  async release(): Promise<void> {
    this.#users -= 1;
    await this.#endIfUnused();
  }

  /** Stops new operations. The session ends when its last user releases it. */
  async giveUp(): Promise<void> {
    this.#spend();
    await this.#endIfUnused();
  }

  /** Returns `error`, or if a custom source threw, an error with the thrown value as its cause. */
  explain(error: DecantError): DecantError {
    return this.loan.explain(error);
  }

  /** Cancels all reads, before the session ends. */
  cancelReads(): void {
    this.loan.cancel();
  }

  /**
   * Runs `work` as an operation and passes its number. When `signal` is aborted, the coordinator is asked to cancel the
   * operation. If it does not do so in time, the coordinator is ended, unless it has operations that were not cancelled. After
   * an `internal` failure, the session accepts no new operations.
   *
   * Fails with `cancelled` after a cancel, otherwise with the failure of `work`; if a custom source threw, the thrown value is
   * the cause. When the promise settles, a coordinator that was ended no longer runs.
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
      this.#spend();
      this.coordinator.late();
    };
    const stop = () => {
      // A dead coordinator runs nothing.
      this.client.call('cancel', operation).catch(() => {});
      timer = setTimeout(() => {
        if (overdue()) timer = setTimeout(giveUp, EXTRA_STOP_MS);
      }, STOP_MS);
    };
    this.coordinator.beginOperation();
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
      this.coordinator.endOperation(isOverdue);
      await this.coordinator.ended;
    }
  }

  /** Closes the image and releases the coordinator, even if users are left. Resolves when all reads have ended. Never rejects. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#givenUp = true;
    this.loan.cancel();
    // A dead coordinator has no image open.
    await this.client.call('close', this.image).catch(() => {});
    await this.parts?.end();
    this.parts?.detach();
    this.coordinator.release(this.client.alive && !this.#isSpent);
    await this.coordinator.ended;
    this.loan.end();
    this.onEnd?.();
  }

  /** Stops new operations, and reuse of the coordinator. */
  #spend(): void {
    this.#givenUp = true;
    this.#isSpent = true;
  }

  async #endIfUnused(): Promise<void> {
    if (this.#givenUp && this.#users === 0) await this.end();
  }
}

/** Returns the session that was opened. Fails with `unsupported` for a configuration, and with `usage` if a disk must be chosen. */
function sessionOf(opened: ImageSession | OtherAnswer): ImageSession {
  if (opened instanceof ImageSession) return opened;
  if ('choice' in opened) throw toDecantError(opened.choice);
  const message =
    'The file is the configuration of a virtual machine; open it as the image, and pass its disks as companions';
  throw new DecantError('unsupported', message, { code: 'not-an-image' });
}

/**
 * Opens the image in `coordinator`. After a cancel, the promise settles only when all reads have ended: then the files may be
 * closed.
 */
async function openOn(
  coordinator: Coordinator,
  loan: Loan,
  workers: number,
  cancel: () => void,
  signal: AbortSignal | undefined,
): Promise<OpenResult | OtherAnswer> {
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    cancel();
    overdue = setTimeout(() => coordinator.end(), STOP_MS);
  };
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  try {
    const opened = await coordinator.client.callMoving(loan.ports, 'open', loan.image, workers);
    if (!signal?.aborted) return opened;
    if ('image' in opened) await coordinator.client.call('close', opened.image);
    throw cancelled();
  } catch (thrown) {
    throw signal?.aborted ? cancelled() : thrown;
  } finally {
    clearTimeout(overdue);
    signal?.removeEventListener('abort', stop);
  }
}
