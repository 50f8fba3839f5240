// Custom sources and streams inside a coordinator: they request their bytes from the calling side.

import { cancelled, toDecantError } from '../errors/errors.js';
import type { SourceReply, SourceRequest } from '../messages/messages.js';
import type { CustomSource, CustomStream, RangeReader } from './worker-host.js';

interface PendingRead {
  id: number;
  offset: number;
  length: number;
  promise: Promise<Uint8Array<ArrayBuffer>>;
  resolve(bytes: Uint8Array<ArrayBuffer>): void;
  reject(thrown: unknown): void;
}

/** The maximum number of reads at once, for each queue. */
const READS_AT_ONCE = 8;

/** The reads of one user of a source: of the image itself, or of a conversion's jobs. Users do not wait for each other. */
export class ReadQueue {
  /** Reads that were sent, by number. */
  readonly #sent = new Map<number, PendingRead>();
  #queue: PendingRead[] = [];

  constructor(private readonly source: PortSource) {}

  /** Resolves to exactly `length` bytes. */
  fetch(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    // The contract of sources excludes empty reads.
    if (length === 0) return Promise.resolve(new Uint8Array(0));
    const read = { id: this.source.newId(), offset, length } as PendingRead;
    read.promise = new Promise((resolve, reject) => {
      Object.assign(read, { resolve, reject });
    });
    this.#queue.push(read);
    this.#sendNext();
    return read.promise;
  }

  /** Cancels the read whose promise `fetch` returned. */
  giveUp(promise: Promise<Uint8Array<ArrayBuffer>>): void {
    const waiting = this.#queue.find((read) => read.promise === promise);
    if (waiting) {
      this.#queue = this.#queue.filter((read) => read !== waiting);
      waiting.reject(cancelled());
    }
    for (const read of this.#sent.values()) if (read.promise === promise) this.source.post({ givenUp: read.id });
  }

  receive(answer: SourceReply): void {
    const read = this.#sent.get(answer.id);
    this.#sent.delete(answer.id);
    if ('bytes' in answer) read?.resolve(answer.bytes);
    else read?.reject(toDecantError(answer.error));
    this.#sendNext();
  }

  #sendNext(): void {
    while (this.#sent.size < READS_AT_ONCE && this.#queue.length > 0) {
      const read = this.#queue.shift()!;
      this.#sent.set(read.id, read);
      this.source.send(this, { id: read.id, offset: read.offset, length: read.length });
    }
  }
}

export class PortSource implements CustomSource {
  readonly gap: number;
  readonly minRead: number;
  readonly readsAtOnce = READS_AT_ONCE;
  #nextId = 0;
  readonly #senders = new Map<number, ReadQueue>();
  readonly #own = new ReadQueue(this);

  constructor(
    private readonly port: MessagePort,
    readonly size: number,
    readonly expects: boolean,
  ) {
    // A source with announcements joins ranges by itself, and must be read exactly as announced. For any other, the cost of a
    // call is unknown: it may be a request to a server.
    this.gap = expects ? 4 << 10 : 256 << 10;
    this.minRead = expects ? Number.POSITIVE_INFINITY : 1 << 20;
    port.onmessage = ({ data }) => {
      const answer = data as SourceReply;
      const reads = this.#senders.get(answer.id);
      this.#senders.delete(answer.id);
      reads?.receive(answer);
    };
  }

  fetch(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#own.fetch(offset, length);
  }

  begin(offset: number, length: number): RangeReader {
    let read: Promise<Uint8Array<ArrayBuffer>> | undefined;
    return {
      next: () => {
        read = this.fetch(offset, length);
        return read;
      },
      end: () => read && this.#own.giveUp(read),
    };
  }

  expect(reader: number, expected: Float64Array): void {
    this.post({ reader, expected });
  }

  newId(): number {
    return this.#nextId++;
  }

  send(reads: ReadQueue, request: { id: number; offset: number; length: number }): void {
    this.#senders.set(request.id, reads);
    this.post(request);
  }

  post(request: SourceRequest): void {
    this.port.postMessage(request);
  }
}

export class PortStream implements CustomStream {
  readonly #source: PortSource;
  #position = 0;

  constructor(port: MessagePort) {
    this.#source = new PortSource(port, Number.MAX_SAFE_INTEGER, false);
  }

  async next(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.#source.fetch(this.#position, length);
    this.#position += bytes.length;
    return bytes;
  }
}
