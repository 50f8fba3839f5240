// Streamed downloads, the page's side. The page sends bytes to its service worker, which passes them to the browser as the
// content of a file. Loaded when a download is first streamed.

import type { StreamedDownload } from 'decant/element';
import { language } from '../languages.js';
import { type Ask, DOWNLOADING, type FromPage, type ToPage } from '../service-worker/page-messages.js';
import { ANSWER_TIMEOUT, ask, findWorker, inTime, unlessAborted } from './streaming-worker.js';

/** The time-out for the browser to request the download, in milliseconds. */
const START_TIMEOUT = 20_000;
/** The interval at which the page checks that the service worker still has the download, in milliseconds. */
const CHECK_INTERVAL = 5000;
/** The largest message, in bytes. Larger ones are not faster. */
const MAX_MESSAGE = 1 << 20;
/** The most bytes that are sent and not yet taken by the browser. */
const MAX_PENDING = 8 << 20;

/** A download, as the page sees it. */
class PageDownload {
  readonly #port: MessagePort;
  readonly #cancelled = new AbortController();
  /** The bytes that were sent. */
  #sent = 0;
  /** The bytes that the browser has taken. */
  #taken = 0;
  /** The reason why the download has ended early. */
  #failure: Error | undefined;
  #isComplete = false;
  #isReady = false;
  #hasBegun = false;
  /** Called after every change of the fields above. */
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
    port1.onmessage = ({ data }: MessageEvent<ToPage>) => this.#receive(data);
    const question: Ask = { ask: 'download', id, name, size };
    worker.postMessage(question, [port2]);
  }

  /** Makes the browser request the download. Rejects with one of the page's `reasons` if it does not, or if `signal` is aborted. */
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
        // The signal is immediate. A method `abort` of this object would be called only after the current write.
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
      ANSWER_TIMEOUT,
      language().reasons.notReady,
    );
    // A navigation of the page would ask whether to leave it, and a link with `download` bypasses the service worker.
    frame.src = address;
    await inTime(
      this.#until(() => this.#hasBegun),
      START_TIMEOUT,
      language().reasons.notBegun,
    );
  }

  /** Keeps the frame, the lock and the regular check until the download is over. */
  #hold(frame: HTMLIFrameElement): void {
    frame.hidden = true;
    document.body.append(frame);
    const checking = setInterval(() => void this.#checkWorker(), CHECK_INTERVAL);
    let unlock = () => {};
    const over = new Promise<void>((resolve) => {
      unlock = resolve;
    });
    // Rejects if a page is denied locks. Then other tabs do not see the download, which works anyway.
    navigator.locks?.request(DOWNLOADING, { mode: 'shared' }, () => over).catch(() => {});
    this.#release = () => {
      unlock();
      clearInterval(checking);
      frame.remove();
      this.#port.close();
    };
  }

  /** Fails the download if the service worker does not know it, because the browser has ended or replaced the worker. */
  async #checkWorker(): Promise<void> {
    try {
      const known = await inTime(
        ask<boolean>(this.worker, { ask: 'alive', id: this.id }),
        4 * CHECK_INTERVAL,
        language().reasons.ended,
      );
      if (known || this.#isComplete) return;
    } catch {
      // The worker does not answer or cannot be reached.
    }
    this.#fail(new Error(this.#hasBegun ? language().reasons.ended : language().reasons.notBegun));
  }

  #receive(message: ToPage): void {
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
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE) {
      // A copy, because its buffer is transferred. The caller's buffer may be shared, or larger than this message.
      const message = bytes.slice(at, at + MAX_MESSAGE);
      await this.#until(() => this.#sent - this.#taken + message.length <= MAX_PENDING);
      this.#sent += message.length;
      this.#send({ bytes: message.buffer as ArrayBuffer }, [message.buffer as ArrayBuffer]);
    }
  }

  async #close(): Promise<void> {
    if (this.size !== undefined && this.#sent !== this.size)
      throw this.#fail(new Error(`${this.#sent} bytes of ${this.size} were written.`));
    this.#send({ end: true });
    await this.#until(() => this.#isComplete);
    this.#release();
  }

  /** Ends both sides with `reason`, unless they have ended. Returns the reason that was used first. */
  #fail(reason: Error): Error {
    if (this.#failure || this.#isComplete) return this.#failure ?? reason;
    this.#failure = reason;
    this.#send({ fail: reason.message });
    // In WebKit, a stream that is being aborted never ends if its controller reports an error.
    if (!this.#controller?.signal.aborted) this.#controller?.error(reason);
    this.#release();
    this.#changed();
    return reason;
  }

  /** Resolves when `condition` holds. Rejects if the download fails. */
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
 * Starts a download with the file name `name` and of `size` bytes, if known. Takes at most half a minute. If the download
 * does not start, rejects with a reason that follows a colon: "the browser did not start the download". If `signal` is
 * aborted before, rejects at once with an `AbortError`; afterwards `signal` has no effect. A rejection leaves nothing behind.
 */
export async function openStreamedDownload(
  name: string,
  size: number | undefined,
  signal?: AbortSignal,
): Promise<StreamedDownload> {
  const { worker, base } = await unlessAborted(signal, findWorker());
  const id = crypto.randomUUID();
  return new PageDownload(worker, id, name, size).begin(base + id, signal);
}
