// Streamed downloads, the page's side. The page sends the bytes to its service worker, which answers the browser's
// request for a file with them.

import type { StreamedDownload } from 'decant/element';
import { type Ask, type FromPage, PLACE, type ToPage, VERSION } from './messages.js';
import { reasons } from './reasons.js';

/** How long a service worker may take to become active, or to answer, in milliseconds. */
const PATIENCE = 5000;
/** How long the browser may take to request the download, in milliseconds. */
const BEGINNING = 20_000;
/** How often the service worker is asked whether it still has the download, in milliseconds. */
const PULSE = 5000;
/** Upper bound, in bytes, on one message. Larger ones are no faster. */
const PIECE = 1 << 20;
/** Upper bound on the bytes that are sent and that the browser has not taken. */
const WINDOW = 8 << 20;

/** The name of the Web Lock that is held during a download. Meanwhile the page's service worker is not replaced. */
export const DOWNLOADING = 'decant:download';

/** As `promise`, but rejects with `reason` if that takes longer than `milliseconds`. */
const inTime = <T>(promise: Promise<T>, milliseconds: number, reason: string): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(reason)), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });

const aborted = () => new DOMException('The download was cancelled before it began.', 'AbortError');

/** As `work`, but when `signal` is aborted, calls `stop` with an `AbortError` and rejects with it. */
const unlessAborted = <T>(
  signal: AbortSignal | undefined,
  work: Promise<T>,
  stop: (reason: Error) => void = () => {},
): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      const reason = aborted();
      stop(reason);
      reject(reason);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });

/** Asks the service worker. Never settles if it does not answer. */
function ask<T>(worker: ServiceWorker, question: Ask): Promise<T> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => {
      resolve(data);
      port1.close();
    };
    worker.postMessage(question, [port2]);
  });
}

/**
 * The service worker that streams, and the URL below which downloads are. Rejects with one of `reasons` if there is
 * none.
 */
async function findWorker(): Promise<{ worker: ServiceWorker; place: string }> {
  if (!isSecureContext) throw new Error(reasons().insecure);
  if (!navigator.serviceWorker) throw new Error(reasons().none);
  const { active, scope } = await inTime(navigator.serviceWorker.ready, PATIENCE, reasons().notReady);
  const version = await inTime(ask<number>(active!, { ask: 'version' }), PATIENCE, reasons().notReady);
  if (version !== VERSION) throw new Error(reasons().otherVersion);
  return { worker: active!, place: new URL(PLACE, scope).href };
}

/** Why no download can be streamed here, to follow a colon; `undefined` if one can. Takes at most 10 s. */
export async function streamObstacle(): Promise<string | undefined> {
  try {
    await findWorker();
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

/** One download. */
class Line {
  readonly #port: MessagePort;
  readonly #cancelled = new AbortController();
  /** How many bytes were sent. */
  #sent = 0;
  /** How many bytes the browser has taken. */
  #taken = 0;
  /** Why nothing more can be written. */
  #failure: Error | undefined;
  #isComplete = false;
  #isReady = false;
  #hasBegun = false;
  /** Called after every change of the above. */
  #wake: (() => void)[] = [];
  #controller: WritableStreamDefaultController | undefined;
  #release = () => {};

  constructor(
    private readonly worker: ServiceWorker,
    private readonly id: string,
    name: string,
    private readonly size: number | undefined,
  ) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }: MessageEvent<ToPage>) => this.#hear(data);
    const question: Ask = { ask: 'download', id, name, size };
    worker.postMessage(question, [port2]);
  }

  /**
   * Makes the browser request the download. Rejects with one of `reasons` if it does not, or when `signal` is aborted.
   */
  async begin(address: string, signal: AbortSignal | undefined): Promise<StreamedDownload> {
    const frame = document.createElement('iframe');
    this.#hold(frame);
    try {
      await unlessAborted(signal, this.#begun(frame, address), (reason) => this.#fail(reason));
    } catch (thrown) {
      throw this.#fail(thrown as Error);
    }
    const writable = new WritableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        if (this.#failure) controller.error(this.#failure);
        // The signal comes at once. A method `abort` of this object would be called only after the write under way.
        controller.signal.addEventListener('abort', () => {
          const { reason } = controller.signal;
          this.#fail(reason instanceof Error ? reason : new Error(String(reason)));
        });
      },
      write: (bytes) => this.#write(bytes),
      close: () => this.#close(),
    });
    return { writable, cancelled: this.#cancelled.signal, taken: () => this.#taken };
  }

  async #begun(frame: HTMLIFrameElement, address: string): Promise<void> {
    await inTime(
      this.#until(() => this.#isReady),
      PATIENCE,
      reasons().notReady,
    );
    // A navigation of the page itself would ask whether to leave it, and a link with `download` bypasses the service
    // worker.
    frame.src = address;
    await inTime(
      this.#until(() => this.#hasBegun),
      BEGINNING,
      reasons().notBegun,
    );
  }

  /** Holds what the download needs until it is over: the frame, the lock, the regular question. */
  #hold(frame: HTMLIFrameElement): void {
    frame.hidden = true;
    document.body.append(frame);
    const pulse = setInterval(() => void this.#feel(), PULSE);
    let unlock = () => {};
    const over = new Promise<void>((resolve) => {
      unlock = resolve;
    });
    // It rejects if a page is denied locks. Then other tabs do not know, and the download works all the same.
    navigator.locks?.request(DOWNLOADING, { mode: 'shared' }, () => over).catch(() => {});
    this.#release = () => {
      unlock();
      clearInterval(pulse);
      frame.remove();
      this.#port.close();
    };
  }

  /** Fails the download if the service worker no longer knows it: the browser has ended or replaced the worker. */
  async #feel(): Promise<void> {
    try {
      const known = await inTime(ask<boolean>(this.worker, { ask: 'alive', id: this.id }), 4 * PULSE, reasons().ended);
      if (known || this.#isComplete) return;
    } catch {
      // The worker did not answer, or cannot be reached.
    }
    this.#fail(new Error(this.#hasBegun ? reasons().ended : reasons().notBegun));
  }

  #hear(message: ToPage): void {
    if ('taken' in message) this.#taken += message.taken;
    else if ('ready' in message) this.#isReady = true;
    else if ('begun' in message) this.#hasBegun = true;
    else if ('complete' in message) this.#isComplete = true;
    else if ('failed' in message) this.#fail(new Error(message.failed));
    else {
      const reason = new DOMException('The download was cancelled in the browser.', 'AbortError');
      this.#fail(reason);
      this.#cancelled.abort(reason);
    }
    this.#changed();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.size !== undefined && bytes.length > this.size - this.#sent)
      throw this.#fail(new Error(`More than the ${this.size} bytes of the disk were written.`));
    for (let at = 0; at < bytes.length; at += PIECE) {
      // A copy, since its buffer is transferred. The caller's buffer may be shared, or larger than this piece.
      const piece = bytes.slice(at, at + PIECE);
      await this.#until(() => this.#sent - this.#taken + piece.length <= WINDOW);
      this.#sent += piece.length;
      this.#send({ bytes: piece.buffer as ArrayBuffer }, [piece.buffer as ArrayBuffer]);
    }
  }

  async #close(): Promise<void> {
    if (this.size !== undefined && this.#sent !== this.size)
      throw this.#fail(new Error(`${this.#sent} bytes of ${this.size} were written.`));
    this.#send({ end: true });
    await this.#until(() => this.#isComplete);
    this.#release();
  }

  /** Ends both sides with `reason`, unless they have ended. Returns the reason of the first call. */
  #fail(reason: Error): Error {
    if (this.#failure || this.#isComplete) return this.#failure ?? reason;
    this.#failure = reason;
    this.#send({ fail: reason.message });
    // In WebKit a stream that is being aborted never ends if it is given an error.
    if (!this.#controller?.signal.aborted) this.#controller?.error(reason);
    this.#release();
    this.#changed();
    return reason;
  }

  /** Resolves when `condition` holds. Rejects when the download has failed. */
  async #until(condition: () => boolean): Promise<void> {
    while (!this.#failure && !condition()) await new Promise<void>((resolve) => this.#wake.push(resolve));
    if (this.#failure) throw this.#failure;
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  #send(message: FromPage, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }
}

/**
 * Begins a download called `name`, of `size` bytes if that is known. Takes at most half a minute. If the download does
 * not begin, rejects with a reason that follows a colon: "the browser did not start the download". If `signal` is
 * aborted before, rejects at once with an `AbortError`; afterwards `signal` has no effect. After a rejection nothing
 * is left.
 */
export async function openStreamedDownload(
  name: string,
  size: number | undefined,
  signal?: AbortSignal,
): Promise<StreamedDownload> {
  const { worker, place } = await unlessAborted(signal, findWorker());
  const id = crypto.randomUUID();
  return new Line(worker, id, name, size).begin(place + id, signal);
}
