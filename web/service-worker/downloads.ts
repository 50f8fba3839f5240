// Streamed downloads, the service worker's side. The browser requests a URL that exists only here, and gets the bytes
// that a page sends, as fast as the browser takes them.

import { type Ask, type FromPage, PLACE, type ToPage, VERSION } from '../download/messages.js';
import { contentDisposition } from './content-disposition.js';

declare const self: ServiceWorkerGlobalScope;

/** How often the browser is asked whether the page still exists, in milliseconds. */
const WATCH = 2000;
/**
 * How long one message keeps the worker alive, in milliseconds: longer than the timers of a hidden page may wait,
 * shorter than an event may last.
 */
const ALIVE = 120_000;

const place = new URL(PLACE, self.registration.scope).href;
const downloads = new Map<string, Download>();

/** One download: passes bytes from the page to the browser. */
class Download {
  /** Resolves when the download is over, however it ends. */
  readonly over: Promise<void>;
  #end = () => {};
  readonly #watch: ReturnType<typeof setInterval>;
  #isOver = false;
  #isFetched = false;
  /** Bytes that the page has sent and the browser has not taken. The page bounds their number. */
  readonly #waiting: ArrayBuffer[] = [];
  #isComplete = false;
  #given = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Set while the browser waits for bytes. */
  #supply: (() => void) | undefined;

  constructor(
    private readonly name: string,
    /** In bytes, if known beforehand. */
    private readonly size: number | undefined,
    private readonly port: MessagePort,
    private readonly client: string,
    private readonly forget: () => void,
  ) {
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
    port.onmessage = ({ data }: MessageEvent<FromPage>) => this.#hear(data);
    this.#watch = setInterval(() => this.#seePage(), WATCH);
    this.#tell({ ready: true });
  }

  /** The answer to the browser's request; `undefined` for a second request, since the bytes come only once. */
  respond(): Response | undefined {
    if (this.#isFetched || this.#isOver) return undefined;
    this.#isFetched = true;
    this.#tell({ begun: true });
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () =>
          new Promise<void>((resolve) => {
            this.#supply = resolve;
            this.#give();
          }),
        cancel: () => {
          this.#tell({ cancelled: true });
          this.#finish();
        },
      },
      // Without a queue in the stream, bytes are asked for only when the browser wants them.
      { highWaterMark: 0 },
    );
    return new Response(body, {
      headers: {
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': contentDisposition(this.name),
        ...(this.size === undefined ? {} : { 'Content-Length': String(this.size) }),
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        // The page may be isolated. Then the frame that requests the download must be isolated, too.
        'Cross-Origin-Embedder-Policy': 'require-corp',
        'Cross-Origin-Resource-Policy': 'same-origin',
      },
    });
  }

  #hear(message: FromPage): void {
    if (this.#isOver) return;
    if ('bytes' in message) this.#waiting.push(message.bytes);
    else if ('end' in message) this.#isComplete = true;
    else {
      this.fail(message.fail);
      return;
    }
    this.#give();
  }

  /** Passes on the next bytes, or the end, if the browser waits for them. */
  #give(): void {
    if (!this.#supply || !this.#controller) return;
    const bytes = this.#waiting.shift();
    if (bytes) {
      this.#controller.enqueue(new Uint8Array(bytes));
      this.#given += bytes.byteLength;
      this.#tell({ taken: bytes.byteLength });
    } else if (!this.#isComplete) {
      return;
    } else if (this.size !== undefined && this.#given !== this.size) {
      this.fail(`${this.#given} bytes of ${this.size} came`);
      return;
    } else {
      this.#controller.close();
      this.#tell({ complete: true });
      this.#finish();
    }
    this.#supply();
    this.#supply = undefined;
  }

  /** Ends the download with an error. The browser shows a failed download. */
  fail(reason: string): void {
    if (this.#isOver) return;
    this.#controller?.error(new Error(reason));
    this.#tell({ failed: reason });
    this.#finish();
  }

  /** Fails the download if its page is gone: a closed tab sends no message. */
  #seePage(): void {
    self.clients
      .get(this.client)
      .then((page) => page ?? this.fail('the page was closed'))
      // The browser did not answer. It is asked again after `WATCH`.
      .catch(() => {});
  }

  #tell(message: ToPage): void {
    this.port.postMessage(message);
  }

  #finish(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    clearInterval(this.#watch);
    this.forget();
    this.#end();
  }
}

/** Answers a message of a page. */
export function hear(event: ExtendableMessageEvent): void {
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
        event.waitUntil(Promise.race([download.over, new Promise((resolve) => setTimeout(resolve, ALIVE))]));
      return;
    }
    case 'download': {
      const { id, name, size } = message;
      downloads.set(id, new Download(name, size, port, event.source.id, () => downloads.delete(id)));
    }
  }
}

/** The form of an ID, as `crypto.randomUUID` makes it. All other names below the path are the server's. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The answer to a request for a download; `undefined` for any other request. */
export function answerDownload(request: Request): Response | undefined {
  if (!request.url.startsWith(place)) return undefined;
  const id = request.url.slice(place.length);
  if (!ID.test(id)) return undefined;
  // A second request, or one for a download that is over, must not get a page of the server as its file.
  const response = request.method === 'GET' ? downloads.get(id)?.respond() : undefined;
  return response ?? new Response(null, { status: 404 });
}
