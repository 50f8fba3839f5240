// A file on a server as a source: fetched by ranges, which are all checked to come from the same state of the file.

import { ListenerError, orCancelled, reasonOf } from '../errors/errors.js';
import type { HttpExchange } from '../http/exchange.js';
import {
  checkState,
  type FileState,
  hasValidator,
  lastingQuery,
  newEtag,
  provingValidators,
  SourceAlternates,
  SourceChanged,
} from '../http/file-state.js';
import type { HttpClient } from '../http/http-client.js';
import { NoAnswer, Overloaded, RequestRefused, TransientFailure } from '../http/http-failures.js';
import { Pace } from '../http/pace.js';
import { type FetchRange, RangeQueue } from '../http/range-queue.js';
import { checkRangeResponse } from '../http/range-response.js';
import type { ByteRange, WantedRange } from '../http/ranges.js';
import { MIN_PROGRESS, type Retries } from '../http/retries.js';
import type { Network, Source } from '../public/types.js';

/**
 * The offset where the first tables of most images end. The bytes before it are fetched by one request, while the end of the file
 * is read, as it is when an image is opened. Otherwise each table would cost a round trip.
 */
const TABLES_END = 512 << 10;

/** How often a server is asked again for the earlier state of the file. */
const DOUBTS = 5;

export const rangeHeader = ({ start, end }: ByteRange): string => `bytes=${start}-${end - 1}`;

/**
 * Passes the body of a response to `take` as it arrives, with the position of each part. Fails unless the body has `length`
 * bytes.
 */
export async function receive(
  { next }: HttpExchange,
  length: number,
  take: (bytes: Uint8Array, at: number) => void,
): Promise<void> {
  let at = 0;
  // An empty file may have no body.
  while (length > 0) {
    const bytes = await next();
    if (!bytes) break;
    if (bytes.length > length - at) throw new Error('the server sent more bytes than requested');
    take(bytes, at);
    at += bytes.length;
  }
  if (at < length) throw new TransientFailure('the connection broke');
}

/** Returns `thrown` with its host set to `host` if it has none. */
export function atHost(thrown: unknown, host: string): unknown {
  if (thrown instanceof TransientFailure || thrown instanceof RequestRefused) thrown.host ??= host;
  return thrown;
}

/** The result of the first response. */
interface Beginning {
  state: FileState;
  /** The first bytes of the file. */
  head: Uint8Array;
  /** The host that sent them. */
  host: string;
}

export class HttpSource implements Source {
  readonly size: number;
  readonly name: string;
  #received: number;
  #isChanged = false;
  readonly #pace: Pace;
  readonly #queue: RangeQueue;
  /** Set while the first tables are fetched; never rejects. */
  #tables: Promise<void> | undefined;
  #hasRead = false;
  readonly #tablesEnd: number;
  readonly #endTables = new AbortController();
  /** Announced reads, by offset. */
  readonly #expected = new Map<number, WantedRange[]>();

  /** Why the last conversion could not check at its end that the file is unchanged, as a sentence. */
  #unconfirmed: string | undefined;
  /** The first ETag of a later response, if the first response had none. */
  #laterEtag: string | undefined;

  constructor(
    private readonly client: HttpClient,
    private readonly retries: Retries,
    private readonly beginning: Beginning,
    private readonly doubt: string | undefined,
  ) {
    const fetchRange: FetchRange = (range, take, signal) => this.#fetchAll(range, take, signal);
    this.#pace = new Pace(client.slots.max);
    this.#queue = new RangeQueue(fetchRange, this.#pace, client.slots);
    this.#queue.markFetched({ start: 0, end: beginning.head.length });
    this.size = beginning.state.size;
    this.#tablesEnd = Math.min(TABLES_END, this.size);
    this.#received = beginning.head.length;
    this.name = client.address.name;
  }

  get unnoticed(): string | undefined {
    return this.doubt ?? this.#unconfirmed ?? this.#mixed;
  }

  get #mixed(): string | undefined {
    if (this.#laterEtag === undefined) return undefined;
    return `${this.client.address.url.origin} sends an ETag with only some responses, so a change of the file may go unnoticed`;
  }

  get network(): Network {
    return { received: this.#received, sent: 0, ...this.retries.network };
  }

  get state(): string | undefined {
    if (this.#isChanged) return undefined;
    const { shown, url } = this.client.address;
    const proven = provingValidators(this.beginning.state);
    return proven && JSON.stringify([shown, lastingQuery(url), this.size, ...proven]);
  }

  /**
   * Requests one byte again to detect changes of the file, since a response describes the state at its start. If the server
   * does not respond, for example because the URL has expired, `unnoticed` says so.
   */
  async verify({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#unconfirmed = undefined;
    if (!hasValidator(this.beginning.state) || this.size === 0) return;
    const first = this.#queue.fetch({ start: 0, end: 1 });
    try {
      await orCancelled(signal, first.complete);
    } catch (thrown) {
      if (signal.aborted) this.#queue.drop(first);
      if (signal.aborted || thrown instanceof SourceChanged || thrown instanceof ListenerError) throw thrown;
      const { origin } = this.client.address.url;
      this.#unconfirmed = `${origin} could not confirm at the end that the file has not changed (${reasonOf(thrown)}), so a change may go unnoticed`;
    }
  }

  expect(ranges: readonly { offset: number; length: number }[]): void {
    if (ranges.length === 0) this.#forget();
    for (const { offset, length } of ranges) {
      // Tables that are not there yet need no request.
      const isHere = offset + length <= (this.#tables ? this.#tablesEnd : this.beginning.head.length);
      if (isHere) continue;
      const wanted = this.#queue.expect({ start: offset, end: offset + length });
      this.#expected.set(offset, [...(this.#expected.get(offset) ?? []), wanted]);
    }
    this.#queue.start();
  }

  async read(offset: number, length: number, { signal }: { signal: AbortSignal }): Promise<Uint8Array> {
    if (offset + length <= this.beginning.head.length) return this.beginning.head.slice(offset, offset + length);
    this.#beginTables(offset, length);
    if (this.#tables && offset < this.#tablesEnd) await this.#awaitTables(this.#tables, signal);
    const wanted = this.#take(offset, length) ?? this.#queue.fetch({ start: offset, end: offset + length });
    wanted.isAwaited = true;
    this.#queue.start();
    try {
      return await orCancelled(signal, wanted.complete);
    } catch (thrown) {
      if (signal.aborted) this.#queue.drop(wanted);
      throw thrown;
    }
  }

  /** Stops fetching what no read has requested. */
  stop(): void {
    this.#endTables.abort();
  }

  /** Starts to fetch the first tables with the first read, if that is of the end of the file. */
  #beginTables(offset: number, length: number): void {
    if (this.#hasRead) return;
    this.#hasRead = true;
    if (offset + length !== this.size) return;
    this.#tables = this.#fetchTables().finally(() => {
      this.#tables = undefined;
    });
  }

  /** Waits for the first tables. */
  async #awaitTables(tables: Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await orCancelled(signal, tables);
    } catch (thrown) {
      this.stop();
      throw thrown;
    }
  }

  /** Fetches the first tables. Not retried: reads fetch what is missing. */
  async #fetchTables(): Promise<void> {
    const { slots } = this.client;
    let at = this.beginning.head.length;
    const range = { start: at, end: this.#tablesEnd };
    if (at >= range.end || !slots.isFree(() => {})) return;
    slots.take();
    this.#queue.markFetched(range);
    const keep = (bytes: Uint8Array) => {
      this.#queue.keep(at, bytes);
      at += bytes.length;
    };
    // Ignored: the read that needs the bytes reports it.
    await this.#fetchAll(range, keep, this.#endTables.signal, 0).catch(() => {});
    slots.release();
  }

  /** Takes the announced read of this range, if there is one. */
  #take(offset: number, length: number): WantedRange | undefined {
    const here = this.#expected.get(offset)?.filter(({ isDropped }) => !isDropped) ?? [];
    const wanted = here.find((wanted) => wanted.length === length);
    const others = here.filter((other) => other !== wanted);
    if (others.length > 0) this.#expected.set(offset, others);
    else this.#expected.delete(offset);
    return wanted;
  }

  /** Cancels all announced reads. */
  #forget(): void {
    this.stop();
    const expected = [...this.#expected.values()].flat();
    this.#expected.clear();
    for (const wanted of expected) this.#queue.drop(wanted);
  }

  /** Fetches all of `range`, with as many requests as needed. `patience` bounds retries, in milliseconds. */
  async #fetchAll(
    range: ByteRange,
    take: (bytes: Uint8Array) => void,
    signal: AbortSignal,
    patience?: number,
  ): Promise<void> {
    let { start: at } = range;
    let before = at;
    const progressed = () => {
      const hasCome = at - before >= MIN_PROGRESS;
      if (hasCome) before = at;
      return hasCome;
    };
    const came = (bytes: Uint8Array) => {
      at += bytes.length;
      this.#received += bytes.length;
      // The end of the range counts as progress, even if few bytes came.
      this.retries.received(at < range.end ? bytes.length : MIN_PROGRESS);
      take(bytes);
    };
    const rest = async (signal: AbortSignal) => {
      while (at < range.end) await this.#fetch({ start: at, end: range.end }, came, signal);
    };
    await this.retries.run(rest, progressed, signal, patience);
  }

  /** Fetches a first part of `requested` by one request: at least one byte. */
  async #fetch(requested: ByteRange, came: (bytes: Uint8Array) => void, signal: AbortSignal): Promise<void> {
    try {
      await this.#fetchOnce(requested, came, signal);
    } catch (thrown) {
      if (thrown instanceof SourceChanged) this.#isChanged = true;
      if (thrown instanceof Overloaded || thrown instanceof NoAnswer) this.#pace.overloaded();
      throw thrown;
    }
  }

  async #fetchOnce(requested: ByteRange, came: (bytes: Uint8Array) => void, signal: AbortSignal): Promise<void> {
    const begin = performance.now();
    const exchange = await this.client.request('GET', rangeHeader(requested), signal);
    try {
      const end = await this.#check(exchange, requested, signal);
      const answered = performance.now();
      this.#pace.answered(answered - begin);
      await receive(exchange, end - requested.start, came);
      this.#pace.ended(end - requested.start, performance.now() - answered);
    } catch (thrown) {
      throw atHost(thrown, exchange.host);
    } finally {
      exchange.end();
    }
  }

  /** Checks that the response is a part of the known state of the file. Resolves to the end of the part. */
  async #check(exchange: HttpExchange, requested: ByteRange, signal: AbortSignal): Promise<number> {
    const { response, host } = exchange;
    const { state } = this.beginning;
    const { end, size } = checkRangeResponse(response, requested, exchange);
    try {
      this.#checkState(response, size);
      // The file ends before the range.
      if (end === requested.start) throw new SourceChanged();
    } catch (thrown) {
      exchange.end();
      const hosts = host === this.beginning.host ? [host] : [this.beginning.host, host];
      const isOfOneSize = (size ?? state.size) === state.size && end > requested.start;
      if (isOfOneSize && (hosts.length > 1 || (await this.#goesBack(signal)))) throw new SourceAlternates(hosts);
      throw thrown;
    }
    return end;
  }

  /** Fails with `SourceChanged` if the response is of another state than the earlier ones. */
  #checkState(response: Response, size: number | undefined): void {
    const { state } = this.beginning;
    checkState(state, response, size);
    const etag = newEtag(state, response);
    this.#laterEtag ??= etag;
    if (etag !== undefined && etag !== this.#laterEtag) throw new SourceChanged();
  }

  /** Whether the server sends the known state again after another one: then it has both at the same time. */
  async #goesBack(signal: AbortSignal): Promise<boolean> {
    const requested = { start: 0, end: 1 };
    for (let count = 0; count < DOUBTS; count += 1) {
      const exchange = await this.client.request('GET', rangeHeader(requested), signal);
      exchange.end();
      try {
        const { end, size } = checkRangeResponse(exchange.response, requested);
        this.#checkState(exchange.response, size);
        return end === requested.end;
      } catch (thrown) {
        if (!(thrown instanceof SourceChanged)) return false;
      }
    }
    return false;
  }
}
