// Streamed downloads, the service worker's side. The browser requests a URL that exists only here, and gets the bytes that
// a page sends, as fast as it takes them.

import { contentDisposition } from './content-disposition.js';
import { type Ask, DOWNLOADS, type FromPage, type ToPage, VERSION } from './page-messages.js';

declare const self: ServiceWorkerGlobalScope;

/** The interval at which the worker checks that the page still exists, in milliseconds. */
const CHECK_INTERVAL = 2000;
/**
 * The time for which one message keeps the worker alive, in milliseconds: longer than timers of a hidden page may wait,
 * shorter than an event may last.
 */
const KEEP_ALIVE = 120_000;

const base = new URL(DOWNLOADS, self.registration.scope).href;
const downloads = new Map<string, Download>();

/** A download: passes bytes from the page to the browser. */
class Download {
  /** Resolves when the download has ended in any way. */
  readonly over: Promise<void>;
  #end = () => {};
  readonly #checking: ReturnType<typeof setInterval>;
  #isOver = false;
  #isFetched = false;
  /** Bytes that the browser has not taken yet. The page bounds their number. */
  readonly #waiting: ArrayBuffer[] = [];
  #isComplete = false;
  #forwarded = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Set while the browser waits for bytes. */
  #supply: (() => void) | undefined;

  constructor(
    private readonly name: string,
    /** In bytes, if known. */
    private readonly size: number | undefined,
    private readonly port: MessagePort,
    private readonly client: string,
    private readonly forget: () => void,
  ) {
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
    port.onmessage = ({ data }: MessageEvent<FromPage>) => this.#receive(data);
    this.#checking = setInterval(() => this.#checkPage(), CHECK_INTERVAL);
    this.#send({ ready: true });
  }

  /** Returns the response to the browser's request; `undefined` for a second request, since the bytes come only once. */
  respond(): Response | undefined {
    if (this.#isFetched || this.#isOver) return undefined;
    this.#isFetched = true;
    this.#send({ begun: true });
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () =>
          new Promise<void>((resolve) => {
            this.#supply = resolve;
            this.#forward();
          }),
        cancel: () => {
          this.#send({ cancelled: true });
          this.#finish();
        },
      },
      // Without a queue in the stream, bytes are requested only when the browser wants them.
      { highWaterMark: 0 },
    );
    return new Response(body, {
      headers: {
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': contentDisposition(this.name),
        ...(this.size === undefined ? {} : { 'Content-Length': String(this.size) }),
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        // If the page is isolated, the frame that requests the download must be isolated too.
        'Cross-Origin-Embedder-Policy': 'require-corp',
        'Cross-Origin-Resource-Policy': 'same-origin',
      },
    });
  }

  #receive(message: FromPage): void {
    if (this.#isOver) return;
    if ('bytes' in message) this.#waiting.push(message.bytes);
    else if ('end' in message) this.#isComplete = true;
    else {
      this.fail(message.fail);
      return;
    }
    this.#forward();
  }

  /** Passes the next bytes or the end to the browser, if it waits for them. */
  #forward(): void {
    if (!this.#supply || !this.#controller) return;
    const bytes = this.#waiting.shift();
    if (bytes) {
      this.#controller.enqueue(new Uint8Array(bytes));
      this.#forwarded += bytes.byteLength;
      this.#send({ taken: bytes.byteLength });
    } else if (!this.#isComplete) {
      return;
    } else if (this.size !== undefined && this.#forwarded !== this.size) {
      this.fail(`${this.#forwarded} bytes of ${this.size} came`);
      return;
    } else {
      this.#controller.close();
      this.#send({ complete: true });
      this.#finish();
    }
    this.#supply();
    this.#supply = undefined;
  }

  /** Ends the download with an error. The browser shows a failed download. */
  fail(reason: string): void {
    if (this.#isOver) return;
    this.#controller?.error(new Error(reason));
    this.#send({ failed: reason });
    this.#finish();
  }

  /** Fails the download if its page is gone, because a closed tab sends no message. */
  #checkPage(): void {
    self.clients
      .get(this.client)
      .then((page) => page ?? this.fail('the page was closed'))
      // The browser did not answer. The next check asks again.
      .catch(() => {});
  }

  #send(message: ToPage): void {
    this.port.postMessage(message);
  }

  #finish(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    clearInterval(this.#checking);
    this.forget();
    this.#end();
  }
}

/** Answers a message of a page. */
export function receive(event: ExtendableMessageEvent): void {
  const message = event.data as Ask;
  const port = event.ports[0];
  if (!port || !(event.source instanceof Client)) return;
  switch (message?.ask) {
    case 'version':
      port.postMessage(VERSION);
      return;
    case 'alive': {
      const download = downloads.get(message.id);
      port.postMessage(download !== undefined);
      if (download)
        event.waitUntil(Promise.race([download.over, new Promise((resolve) => setTimeout(resolve, KEEP_ALIVE))]));
      return;
    }
    case 'download': {
      const { id, name, size } = message;
      downloads.set(id, new Download(name, size, port, event.source.id, () => downloads.delete(id)));
    }
  }
}

/** The form of an ID from `crypto.randomUUID`. All other names below the path belong to the server. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the response to a request for a download; `undefined` for any other request. */
export function answerDownload(request: Request): Response | undefined {
  if (!request.url.startsWith(base)) return undefined;
  const id = request.url.slice(base.length);
  if (!ID.test(id)) return undefined;
  // A second request, or a request for an ended download, must not get a page of the server as its file.
  const response = request.method === 'GET' ? downloads.get(id)?.respond() : undefined;
  return response ?? new Response(null, { status: 404 });
}
