// A file of a server that sends only whole files: kept in memory if it is small, otherwise read once, in order.

import { reasonOf } from '../errors/errors.js';
import { joined } from '../errors/values.js';
import type { HttpExchange } from '../http/exchange.js';
import { TransientFailure } from '../http/http-failures.js';
import { contentLength } from '../http/range-response.js';
import type { Retries } from '../http/retries.js';
import type { Network, Source } from '../public/types.js';
import type { SequentialBody } from './custom-stream.js';

/** The largest file that is kept in memory, in bytes. */
const MOST_KEPT = 64 << 20;

/** Why a truncated file could go unnoticed, as a sentence; undefined if it could not. */
export const unnoticedEnd = (response: Response, origin: string): string | undefined =>
  contentLength(response) === undefined
    ? `${origin} does not state the size of the file, so a truncated file may go unnoticed`
    : undefined;

/** Throws if the body ended early, after `received` bytes (`TransientFailure`), or is longer than its stated length. */
function checkEnd(response: Response, received: number): void {
  const length = contentLength(response);
  if (length === undefined || received === length) return;
  if (received < length && response.type !== 'cors') throw new TransientFailure('the connection broke');
  // A cross-origin response may hide its encoding. Content-Length counts encoded bytes.
  throw new Error(
    `the server states ${length} bytes (Content-Length), but ${received} arrived: it encodes the file, or the file is truncated`,
  );
}

/** A small file that was fetched as a whole. */
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

/** The body of `exchange` as that of a sequential file. `head`: the bytes that have arrived already. */
export function sequentialBody(exchange: HttpExchange, head: Uint8Array[], retries: Retries): SequentialBody {
  return {
    length: contentLength(exchange.response),
    next: async (received) => head.shift() ?? next(exchange, retries, received),
    cancel: () => exchange.end(),
  };
}

/** Resolves to the next bytes of the file, after the first `received`; undefined at its end. */
async function next(exchange: HttpExchange, retries: Retries, received: number): Promise<Uint8Array | undefined> {
  try {
    const bytes = await exchange.next();
    if (bytes) return bytes;
    exchange.end();
    checkEnd(exchange.response, received);
    return undefined;
  } catch (thrown) {
    exchange.end();
    retries.throwListenerError();
    const reason = `${reasonOf(thrown)}; the server sends only whole files, so reading cannot continue from there`;
    throw new Error(reason, { cause: thrown });
  }
}

/** Resolves to all bytes of a small response, or to the first bytes (`head`) of a large one. Fails with `TransientFailure`. */
export async function receiveWhole(
  exchange: HttpExchange,
  retries: Retries,
): Promise<{ bytes: Uint8Array } | { head: Uint8Array[] }> {
  const head: Uint8Array[] = [];
  let length = 0;
  const isLarge = (contentLength(exchange.response) ?? 0) > MOST_KEPT;
  while (!isLarge && length <= MOST_KEPT) {
    const bytes = await exchange.next();
    if (!bytes) {
      checkEnd(exchange.response, length);
      return { bytes: joined(head) };
    }
    head.push(bytes);
    retries.received(bytes.length);
    length += bytes.length;
  }
  return { head };
}
