// The parts of a page that streamed downloads use, for tests that play the browser. Messages arrive in microtasks, so that a
// test with fake timers controls their order.

export const SCOPE = 'https://decant.test/app/';

/** One end of a message channel. */
class FakePort {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  #other: FakePort | undefined;
  #isClosed = false;

  connect(other: FakePort): void {
    this.#other = other;
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    const data = structuredClone(message, { transfer });
    const other = this.#other;
    // Messages that were sent before a port was closed still arrive.
    if (!this.#isClosed) queueMicrotask(() => other?.receive(data));
  }

  receive(data: unknown): void {
    if (!this.#isClosed) this.onmessage?.({ data });
  }

  close(): void {
    this.#isClosed = true;
  }
}

class FakeChannel {
  readonly port1 = new FakePort();
  readonly port2 = new FakePort();

  constructor() {
    this.port1.connect(this.port2);
    this.port2.connect(this.port1);
  }
}

/** A message to a service worker. */
export interface Received {
  data: unknown;
  ports: readonly FakePort[];
}

export class FakePage {
  /** Answers messages to the service worker. Without it the worker is silent. */
  onmessage: ((message: Received) => void) | undefined;
  /** Called with the URL to which a frame navigates. */
  onnavigate: ((address: string) => void) | undefined;
  /** The frames in the document. */
  readonly frames = new Set<object>();
  /** The names of the Web Locks that are held. */
  readonly locks = new Set<string>();

  readonly #worker = {
    postMessage: (data: unknown, ports: FakePort[]) => queueMicrotask(() => this.onmessage?.({ data, ports })),
  };

  /** The globals of the page. */
  readonly globals = {
    isSecureContext: true,
    MessageChannel: FakeChannel,
    navigator: {
      serviceWorker: { ready: Promise.resolve({ active: this.#worker, scope: SCOPE }) } as object | undefined,
      locks: {
        request: async (name: string, _options: object, work: () => Promise<void>) => {
          this.locks.add(name);
          await work();
          this.locks.delete(name);
        },
      },
    },
    document: {
      createElement: () => this.#createFrame(),
      body: { append: (frame: object) => this.frames.add(frame) },
    },
  };

  #createFrame(): object {
    const { frames } = this;
    const navigate = (address: string) => this.onnavigate?.(address);
    return {
      set src(address: string) {
        navigate(address);
      },
      remove() {
        frames.delete(this);
      },
    };
  }
}
