// An opened image: by which session it is read, and its keys. A session that has died is followed by another one.

import { DecantError, orCancelled, toDecantError } from '../errors/errors.js';
import type { Layer, Need, OutputFormat } from '../public/types.js';
import type { CrateExtent, CrateInfo } from '../worker-side/coordinator-methods.js';
import type { LayerPasswords } from './layer-passwords.js';
import { acquirePool, type Pool } from './pool.js';
import { type ImageSetup, Session } from './session.js';

export class ImageSessions {
  #session: Session;
  /** This one, and those before it that have not ended: somebody holds them. */
  readonly #sessions = new Set<Session>();
  #reopening: Promise<void> | undefined;
  #unlocking: Promise<void> | undefined;
  /** Cancels the unlocking under way. */
  #unlockingSignal: AbortSignal | undefined;
  readonly #ending = new AbortController();

  private constructor(
    private readonly setup: ImageSetup,
    private readonly passwords: LayerPasswords,
    private readonly assumePassword: boolean,
    session: Session,
  ) {
    this.#session = session;
    this.#keep(session);
  }

  static async open(
    setup: ImageSetup,
    passwords: LayerPasswords,
    assumePassword: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ImageSessions> {
    return new ImageSessions(setup, passwords, assumePassword, await Session.open(setup, signal));
  }

  get info(): CrateInfo {
    return this.#session.opened.info;
  }

  /** Whether the disk is read once, in order. */
  get comesInOrder(): boolean {
    return this.#session.opened.comesInOrder;
  }

  get formats(): OutputFormat[] {
    return this.#session.opened.formats;
  }

  /**
   * The workers that run the image's jobs, or undefined where its coordinator has threads of its own. The caller releases
   * them.
   */
  acquirePool(): Pool | undefined {
    const { starter, engine, workers } = this.setup;
    return engine === 'workers' ? acquirePool(starter, workers) : undefined;
  }

  /** Starts what converts the image. */
  async prepare(): Promise<void> {
    const pool = this.acquirePool();
    try {
      await orCancelled(this.#ending.signal, pool?.ready ?? Promise.resolve());
    } finally {
      pool?.release(true);
    }
  }

  /**
   * The session to begin something on, once what is encrypted is unlocked as far as there are passwords. `report` is
   * told the share of the unlocking that is done. The caller releases the session.
   */
  async acquire(signal: AbortSignal, report: (share: number) => void = () => {}): Promise<Session> {
    for (;;) {
      if (!this.#session.usable) {
        await orCancelled(signal, this.#reopen());
      } else if (this.#isLocked) {
        await this.#unlockOnce(signal, report);
      } else {
        this.#session.hold();
        return this.#session;
      }
    }
  }

  /** The session to look at tables with: nothing is unlocked. The caller releases it. */
  async acquireLocked(signal: AbortSignal): Promise<Session> {
    while (!this.#session.usable) await orCancelled(signal, this.#reopen());
    this.#session.hold();
    return this.#session;
  }

  /** Lists what lies where on the disk, of a locked image too. */
  async *layout(signal: AbortSignal): AsyncGenerator<CrateExtent[], void, void> {
    const session = await this.acquireLocked(signal);
    const { client, image } = session;
    let map: number | undefined;
    try {
      const begun = await client.call('layout', image);
      map = begun;
      for (;;) {
        const extents = await session.run(signal, (operation) => client.call('nextExtents', operation, begun));
        if (!extents) return;
        yield extents;
      }
    } finally {
      // As for any map: one that is dead holds none any more.
      if (map !== undefined) client.call('endMap', map).catch(() => {});
      await session.release();
    }
  }

  /** Whatever is read is given up: the image is about to be closed. */
  cancelReads(): void {
    this.#ending.abort();
    for (const session of this.#sessions) session.cancelReads();
  }

  /** Ends all sessions, whoever still holds one. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#unlocking, this.#reopening]);
    this.passwords.wipe();
    await Promise.all([...this.#sessions].map((session) => session.end()));
  }

  /** Keeps `session` until it has ended. */
  #keep(session: Session): void {
    this.#sessions.add(session);
    session.onEnd = () => this.#sessions.delete(session);
  }

  /** Another session takes the place of this one; whoever asks meanwhile waits for the same. */
  #reopen(): Promise<void> {
    const open = async () => {
      const session = await Session.open(this.setup, this.#ending.signal);
      const before = this.#session;
      this.#session = session;
      this.#keep(session);
      await before.giveUp();
    };
    this.#reopening ??= open().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  /** Whether there is something to unlock, and something to do it with. A missing file is told first. */
  get #isLocked(): boolean {
    const { needs } = this.info;
    return this.passwords.hasAny && needs.length > 0 && needs.every(({ kind }) => kind === 'password');
  }

  /** Whoever asks meanwhile waits for the same. Where another one has cancelled it, it has ended without an error. */
  async #unlockOnce(signal: AbortSignal, report: (share: number) => void): Promise<void> {
    this.#unlockingSignal ??= signal;
    const unlockingSignal = this.#unlockingSignal;
    this.#unlocking ??= this.#unlock(signal, report).finally(() => {
      this.#unlocking = undefined;
      this.#unlockingSignal = undefined;
    });
    try {
      await orCancelled(signal, this.#unlocking);
    } catch (thrown) {
      if (signal.aborted || !unlockingSignal.aborted) throw thrown;
    }
  }

  /** Finds the keys of all layers that are locked, the image first. */
  async #unlock(signal: AbortSignal, report: (share: number) => void): Promise<void> {
    // The caller's functions may use the image: by then this unlocking is known as the one under way.
    await Promise.resolve();
    const session = this.#session;
    const { info } = session.opened;
    const encrypted = info.layers.filter(({ encryption }) => encryption !== undefined);
    while (info.needs.length > 0) {
      const number = encrypted.length - info.needs.length;
      const share = (done: number) => report((number + done) / encrypted.length);
      share(0);
      info.needs = await this.#unlockLayer(session, number, encrypted[number]!, signal, share);
    }
  }

  /** Answers with what the image needs then. */
  async #unlockLayer(
    session: Session,
    number: number,
    layer: Layer,
    signal: AbortSignal,
    share: (done: number) => void,
  ): Promise<Need[]> {
    const password = await orCancelled(signal, this.passwords.of(number, layer));
    if (!password) {
      const message = `'${layer.name}' is encrypted; give its password`;
      throw new DecantError('password', message, { code: 'password-needed', fields: { layer: layer.name } });
    }
    const { client, image } = session;
    const assume = this.assumePassword;
    try {
      return await session.run(signal, async (operation) => {
        client.on(`unlocking:${operation}`, (done) => share(done as number));
        try {
          return await client.callMoving([password.buffer], 'unlock', { operation, image, password, assume });
        } finally {
          client.off(`unlocking:${operation}`);
        }
      });
    } catch (thrown) {
      if (toDecantError(thrown).kind === 'password') this.passwords.forget(number);
      throw thrown;
    } finally {
      // Where it was not sent: what was moved has no bytes here.
      if (password.length > 0) password.fill(0);
    }
  }
}
