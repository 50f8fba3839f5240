// A file of a server that sends only whole files: kept in memory where it is small, otherwise read once, in order.

import { reasonOf } from '../errors/errors.js';
import { codingOf, lengthOf } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { Passing } from '../http/failures.js';
import type { Retries } from '../http/retry.js';
import type { Network, Source } from '../public/types.js';
import { openStream } from './open-stream.js';
import type { OpenedSource } from './opened-source.js';

/** The most that is kept in memory, in bytes. */
const MOST_KEPT = 64 << 20;

/** Says why a file that was cut off could go unnoticed, as a sentence, if it could. */
export const unnoticedEnd = (response: Response, origin: string): string | undefined =>
  lengthOf(response) === undefined
    ? `${origin} does not say how large the file is, so one that is cut off may go unnoticed`
    : undefined;

/** Those that every `fetch` takes off. */
const CODINGS = ['gzip', 'x-gzip', 'deflate', 'br'];

/** Fails where the body is not the file, and no `fetch` makes it that. */
function checkCoding(response: Response): void {
  const coding = codingOf(response);
  if (coding === undefined || CODINGS.includes(coding)) return;
  throw new Error(`the server sends the file encoded as ${coding}, which not every system undoes`);
}

/** Fails with `Passing` where the body of so many bytes has ended before its end. */
function checkEnd(response: Response, received: number): void {
  // The length is that of what travels, and other origins need not say whether that is encoded.
  const length = codingOf(response) === undefined && response.type !== 'cors' ? lengthOf(response) : undefined;
  if (length !== undefined && received < length) throw new Passing('the connection broke');
}

/** A file that was fetched as a whole. */
export class BufferedFile implements Source {
  constructor(
    private readonly bytes: Uint8Array,
    readonly name: string,
    readonly unnoticed: string | undefined,
    readonly network: Network,
  ) {}

  get size(): number {
    return this.bytes.length;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    return this.bytes.slice(offset, offset + length);
  }
}

/** A file that comes in order. For `open` it is a stream; nobody else can read of it. */
export class SequentialFile implements Source {
  readonly stream: ReadableStream<Uint8Array>;
  /** In bytes, where the server says it. */
  readonly length: number | undefined;
  #received = 0;

  /** `begun` are the bytes that have come already. */
  constructor(
    exchange: Exchange,
    begun: Uint8Array[],
    private readonly retries: Retries,
    readonly name: string,
    readonly shown: string,
    readonly unnoticed: string | undefined,
  ) {
    this.length = codingOf(exchange.response) === undefined ? lengthOf(exchange.response) : undefined;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const bytes = begun.shift() ?? (await next(exchange, this.#received));
      if (!bytes) return controller.close();
      this.#received += bytes.length;
      retries.came(bytes.length);
      controller.enqueue(bytes);
    };
    this.stream = new ReadableStream({ pull, cancel: () => exchange.end() }, { highWaterMark: 0 });
  }

  get network(): Network {
    return { received: this.#received, sent: 0, ...this.retries.network };
  }

  get size(): number {
    return this.length ?? 0;
  }

  async read(): Promise<Uint8Array> {
    throw new Error(`${this.shown} comes as a whole, and is read once, by 'open'`);
  }
}

/** Fails with `usage` where it was opened before. */
export function openSequential(file: SequentialFile): OpenedSource {
  const { unnoticed, name } = file;
  return { ...openStream(file.stream, file), name, ...(unnoticed === undefined ? {} : { unnoticed }) };
}

/** The next bytes of the file behind those that were `received`. */
async function next(exchange: Exchange, received: number): Promise<Uint8Array | undefined> {
  try {
    const bytes = await exchange.next();
    if (bytes) return bytes;
    exchange.end();
    checkEnd(exchange.response, received);
    return undefined;
  } catch (thrown) {
    exchange.end();
    const reason = `${reasonOf(thrown)}; the server sends only whole files, so reading cannot go on from there`;
    throw new Error(reason, { cause: thrown });
  }
}

/** The bytes of the answer if they are few, which ends it; otherwise those that have come. Fails with `Passing`. */
export async function receiveWhole(
  exchange: Exchange,
  retries: Retries,
): Promise<{ bytes: Uint8Array } | { begun: Uint8Array[] }> {
  checkCoding(exchange.response);
  const begun: Uint8Array[] = [];
  let length = 0;
  const isLarge = (lengthOf(exchange.response) ?? 0) > MOST_KEPT;
  while (!isLarge && length <= MOST_KEPT) {
    const bytes = await exchange.next();
    if (!bytes) {
      checkEnd(exchange.response, length);
      return { bytes: joined(begun, length) };
    }
    begun.push(bytes);
    retries.came(bytes.length);
    length += bytes.length;
  }
  return { begun };
}

function joined(parts: Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
