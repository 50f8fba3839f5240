// The sessions of an opened image, and its passwords. A new session replaces one that has died.

import { DecantError, orCancelled, reasonOf, toDecantError } from '../errors/errors.js';
import type { CrateExtent, CrateInfo, OpenResult, OtherAnswer } from '../messages/coordinator.js';
import type { OpenOptions } from '../public/caller-types.js';
import type { Layer, Need, OutputFormat } from '../public/types.js';
import { ImageSession, type ImageSetup } from './image-session.js';
import { acquirePool, type Pool, startPool, WORTH_ALL } from './pool.js';

export class ImageSessions {
  #session: ImageSession;
  /** The current session, and earlier ones that are still held. */
  readonly #sessions = new Set<ImageSession>();
  #reopening: Promise<void> | undefined;
  #unlocking: Promise<void> | undefined;
  /** The signal of the call that started the current unlocking. */
  #unlockingSignal: AbortSignal | undefined;
  readonly #ending = new AbortController();

  private constructor(
    private readonly setup: ImageSetup,
    private readonly passwords: LayerPasswords,
    session: ImageSession,
  ) {
    this.#session = session;
    this.#keep(session);
  }

  static async open(
    setup: ImageSetup,
    passwords: LayerPasswords,
    signal: AbortSignal | undefined,
    measured?: (share: number) => void,
  ): Promise<ImageSessions> {
    return new ImageSessions(setup, passwords, await ImageSession.open(setup, signal, measured));
  }

  /** Like `open`, or resolves to another answer of the coordinator. */
  static async openFile(
    setup: ImageSetup,
    passwords: LayerPasswords,
    signal: AbortSignal | undefined,
    measured?: (share: number) => void,
  ): Promise<ImageSessions | OtherAnswer> {
    const opened = await ImageSession.openFile(setup, signal, measured);
    if (!(opened instanceof ImageSession)) return opened;
    return new ImageSessions(setup, passwords, opened);
  }

  /** The coordinator's answer to `open`. */
  get opened(): OpenResult {
    return this.#session.opened;
  }

  get info(): CrateInfo {
    return this.opened.info;
  }

  /** The error for a caller without room, if it is a file to be unpacked, not an image. */
  get roomNeeded(): DecantError | undefined {
    return this.#session.roomNeeded;
  }

  /**
   * Acquires the workers that run the image's jobs. The caller must release them. `forSeveral`: for the jobs of several images, which
   * threads cannot run, since they enter their pool with the files of one image.
   */
  acquirePool(forSeveral = false): Pool {
    const { starter, engine, workers } = this.setup;
    return acquirePool(starter, forSeveral ? 'workers' : engine, workers);
  }

  /** Starts the workers that convert the image. For a small image, they start with its jobs, which may need few. */
  async prepare(): Promise<void> {
    const { starter, engine, workers } = this.setup;
    if (this.info.fileSize! < WORTH_ALL) return;
    await orCancelled(this.#ending.signal, startPool(starter, engine, workers));
  }

  /**
   * Acquires the current session, after unlocking the image if there are passwords. `report` gets the finished share of the
   * unlocking. The caller must release the session.
   */
  async acquire(signal: AbortSignal, report: (share: number) => void = () => {}): Promise<ImageSession> {
    for (;;) {
      if (!this.#session.usable) {
        await orCancelled(signal, this.#reopen());
      } else if (this.#isLocked(this.#session)) {
        await this.#unlockOnce(signal, report);
      } else {
        this.#session.hold();
        return this.#session;
      }
    }
  }

  /**
   * Opens the image in the coordinator of `host`, a session of another image, and unlocks it if there are passwords. The caller must end
   * the session, before the host is released.
   */
  async openBeside(host: ImageSession, signal: AbortSignal, report: (share: number) => void): Promise<ImageSession> {
    const session = await ImageSession.openBeside(this.setup, host, signal);
    this.#keep(session);
    try {
      if (this.#isLocked(session)) await this.#unlock(session, signal, report);
      return session;
    } catch (thrown) {
      await session.end();
      throw thrown;
    }
  }

  /** Acquires the current session without unlocking, for reading tables. The caller must release it. */
  async acquireLocked(signal: AbortSignal): Promise<ImageSession> {
    while (!this.#session.usable) await orCancelled(signal, this.#reopen());
    this.#session.hold();
    return this.#session;
  }

  /**
   * Describes an output format with its options. `diskSize`: of a streamed disk, if it was determined; `more`: the sizes of further
   * disks. Throws `usage` for unknown ones, and why the disks do not fit.
   */
  async output(
    format: string,
    formatOptions: Record<string, string>,
    signal: AbortSignal,
    diskSize?: number,
    more: number[] = [],
  ): Promise<OutputFormat> {
    const session = await this.acquireLocked(signal);
    try {
      const { client, image } = session;
      const describe = () => client.call('output', image, format, formatOptions, diskSize, more);
      const output = await session.run(signal, describe);
      if (output.refusal) throw new DecantError(output.refusal.kind, output.refusal.message, output.refusal);
      return output;
    } finally {
      await session.release();
    }
  }

  /** Lists the extents of the disk, also of a locked image. */
  async *layout(signal: AbortSignal): AsyncGenerator<CrateExtent[], void, void> {
    const session = await this.acquireLocked(signal);
    const { client, image } = session;
    let map: number | undefined;
    try {
      const started = await session.run(signal, () => client.call('layout', image));
      map = started;
      for (;;) {
        const extents = await session.run(signal, (operation) => client.call('nextExtents', operation, started));
        if (!extents) return;
        yield extents;
      }
    } finally {
      // Not awaited: the coordinator may be dead.
      if (map !== undefined) client.call('endMap', map).catch(() => {});
      await session.release();
    }
  }

  /** Resolves to the size of a streamed disk in bytes, if its container states it. Fails as reading does. */
  async statedSize(signal: AbortSignal): Promise<number | undefined> {
    const session = await this.acquireLocked(signal);
    const { client, image } = session;
    try {
      return await session.run(signal, (operation) => client.call('statedSize', operation, image));
    } finally {
      await session.release();
    }
  }

  /** Cancels all reads, before the image is closed. */
  cancelReads(): void {
    this.#ending.abort();
    for (const session of this.#sessions) session.cancelReads();
  }

  /** Ends all sessions, even if they are held, and forgets the passwords. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#unlocking, this.#reopening]);
    this.passwords.wipe();
    await this.end();
  }

  /** Ends all sessions, even if they are held. The passwords stay, for other sessions. */
  async end(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.end()));
  }

  /** Tracks `session` until it has ended. */
  #keep(session: ImageSession): void {
    this.#sessions.add(session);
    session.onEnd = () => this.#sessions.delete(session);
  }

  /** Replaces the session by a new one. Concurrent calls share one replacement. */
  #reopen(): Promise<void> {
    const open = async () => {
      const session = await ImageSession.open(this.setup, this.#ending.signal);
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

  /** Whether the image must be unlocked and there are passwords. Missing files are reported before. */
  #isLocked({ opened }: ImageSession): boolean {
    const { needs } = opened.info;
    return this.passwords.hasAny && needs.length > 0 && needs.every(({ kind }) => kind === 'password');
  }

  /** Concurrent calls share one unlocking. If another call cancelled it, this one returns without an error. */
  async #unlockOnce(signal: AbortSignal, report: (share: number) => void): Promise<void> {
    this.#unlockingSignal ??= signal;
    const unlockingSignal = this.#unlockingSignal;
    this.#unlocking ??= this.#unlock(this.#session, signal, report).finally(() => {
      this.#unlocking = undefined;
      this.#unlockingSignal = undefined;
    });
    try {
      await orCancelled(signal, this.#unlocking);
    } catch (thrown) {
      if (signal.aborted || !unlockingSignal.aborted) throw thrown;
    }
  }

  /** Unlocks all locked layers of the image in `session`, the image first. */
  async #unlock(session: ImageSession, signal: AbortSignal, report: (share: number) => void): Promise<void> {
    // The caller's functions may use the image: `#unlocking` must be set before they run.
    await Promise.resolve();
    const { info } = session.opened;
    const encrypted = info.layers.filter(({ encryption }) => encryption !== undefined);
    while (info.needs.length > 0) {
      const number = encrypted.length - info.needs.length;
      const share = (done: number) => report((number + done) / encrypted.length);
      share(0);
      info.needs = await this.#unlockLayer(session, number, encrypted[number]!, signal, share);
    }
  }

  /** Unlocks one layer. Resolves to the remaining needs of the image. */
  async #unlockLayer(
    session: ImageSession,
    number: number,
    layer: Layer,
    signal: AbortSignal,
    share: (done: number) => void,
  ): Promise<readonly Need[]> {
    const password = await orCancelled(signal, this.passwords.of(number, layer));
    if (!password) {
      const message = `'${layer.name}' is encrypted; give its password`;
      throw new DecantError('password', message, { code: 'password-needed', fields: { layer: layer.name } });
    }
    const { client, image } = session;
    const { assume } = this.passwords;
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
      // Wiped if it was not sent: a transferred buffer is empty here.
      if (password.length > 0) password.fill(0);
    }
  }
}

export class LayerPasswords {
  #given: OpenOptions['password'];
  #wiped = false;
  /** Copies: the caller wipes the originals. */
  readonly #known = new Map<number, Uint8Array<ArrayBuffer>>();

  /** Whether any password is accepted for a method that cannot check it. */
  readonly assume: boolean;

  constructor({ password, assumePassword = false }: OpenOptions) {
    this.assume = assumePassword;
    this.#given = password instanceof Uint8Array ? new Uint8Array(password) : password;
  }

  /** Whether there is a password, or a function to ask for one. */
  get hasAny(): boolean {
    return this.#given !== undefined;
  }

  /**
   * Resolves to a copy of the password of `layer`, the encrypted layer `number`, or to undefined. The receiver wipes it. Fails
   * with `password` if the caller's function throws.
   */
  async of(number: number, layer: Layer): Promise<Uint8Array<ArrayBuffer> | undefined> {
    let bytes = this.#known.get(number);
    if (!bytes) {
      bytes = bytesOf(typeof this.#given === 'function' ? await ask(this.#given, layer) : this.#given);
      // A password that arrives after the image was closed is not kept.
      if (bytes && this.#wiped) bytes.fill(0);
      else if (bytes) this.#known.set(number, bytes);
    }
    return bytes && new Uint8Array(bytes);
  }

  /** Forgets a wrong password: a function is called again the next time. */
  forget(number: number): void {
    this.#known.get(number)?.fill(0);
    this.#known.delete(number);
  }

  wipe(): void {
    for (const bytes of this.#known.values()) bytes.fill(0);
    this.#known.clear();
    if (this.#given instanceof Uint8Array) this.#given.fill(0);
    this.#given = undefined;
    this.#wiped = true;
  }
}

type AskPassword = Extract<OpenOptions['password'], (layer: Layer) => unknown>;

async function ask(password: AskPassword, layer: Layer): Promise<string | Uint8Array | undefined> {
  try {
    return await password(layer);
  } catch (thrown) {
    const message = `Could not ask for the password of '${layer.name}': ${reasonOf(thrown)}`;
    throw new DecantError('password', message, { cause: thrown });
  }
}

function bytesOf(password: string | Uint8Array | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (password === undefined) return undefined;
  if (typeof password === 'string') return new TextEncoder().encode(password);
  if (password instanceof Uint8Array) return new Uint8Array(password);
  throw new DecantError('usage', 'A password is a string or a Uint8Array');
}
