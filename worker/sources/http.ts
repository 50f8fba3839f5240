// A file on a server as a source: fetched by ranges, each of them checked to be of one state of the file.

import { cancelled, DecantError, reasonOf } from '../errors.js';
import { type Address, addressOf } from '../http/address.js';
import {
  checkPart,
  checkState,
  lengthOf,
  type Range,
  type State,
  stateOf,
  unnoticed,
  wasChanged,
} from '../http/answer.js';
import { Client, type Exchange, type HttpPlatform } from '../http/client.js';
import { Passing } from '../http/failures.js';
import { Retries } from '../http/retry.js';
import type { HttpOptions } from '../http/types.js';
import type { Network, Source } from '../types.js';
import type { OpenedSource } from './opened-source.js';
import { openOwn } from './own.js';

/** The first request brings as many bytes: the headers and first tables of most images. */
const HEAD = 64 << 10;
const PATIENCE = 600;

/**
 * Asks the server for the size of the file. Fails with `source` where it does not answer, or not to range requests, and
 * with `cancelled` when `options.signal` is aborted.
 */
export async function openHttp(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions = {},
): Promise<HttpSource> {
  const address = addressOf(url);
  const client = new Client(address, platform, options);
  const retries = new Retries((options.patience ?? PATIENCE) * 1000);
  const signal = options.signal ?? new AbortController().signal;
  try {
    return await retries.run(
      () => begin(client, retries, signal),
      () => false,
      signal,
    );
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    if (thrown instanceof DecantError) throw thrown;
    throw new DecantError('source', `Could not open '${address.shown}': ${reasonOf(thrown)}`, { cause: thrown });
  }
}

/** The same for `open`, to which an address is the file. */
export async function openAddress(
  platform: HttpPlatform,
  url: string | URL,
  signal: AbortSignal | undefined,
): Promise<OpenedSource> {
  const source = await openHttp(platform, url, signal ? { signal } : {});
  return { ...openOwn(source), identity: source.address.url.href };
}

/** The first request. */
async function begin(client: Client, retries: Retries, signal: AbortSignal): Promise<HttpSource> {
  const asked = { start: 0, end: HEAD };
  const exchange = await client.ask('GET', rangeHeader(asked), signal);
  try {
    const { response } = exchange;
    const part = checkPart(response, asked);
    retries.answered();
    const size = part.size ?? (await sizeOf(client, signal));
    const head = new Uint8Array(Math.min(size, part.end));
    const isShort = head.length > 0 && (await fill(exchange, head, () => {})) < head.length;
    if (isShort) throw new Passing('the connection broke');
    const state = stateOf(response, size);
    return new HttpSource(client, retries, state, head, unnoticed(response, state, client.address.url.origin));
  } finally {
    exchange.end();
  }
}

/** The size where Content-Range cannot be seen. Some servers allow no HEAD: presigned addresses are for one method. */
async function sizeOf(client: Client, signal: AbortSignal): Promise<number> {
  for (const method of ['HEAD', 'GET'] as const) {
    const { response, end } = await client.ask(method, undefined, signal);
    end();
    const length = lengthOf(response);
    if (response.status === 200 && length !== undefined) return length;
  }
  throw new Error(
    'the server does not say how large the file is; it can send Access-Control-Expose-Headers: Content-Range',
  );
}

const rangeHeader = ({ start, end }: Range): string => `bytes=${start}-${end - 1}`;

/** Fills `bytes` from the body, as far as that has any. Fails where it has more. */
async function fill({ next }: Exchange, bytes: Uint8Array, came: (length: number) => void): Promise<number> {
  let filled = 0;
  for (;;) {
    const chunk = await next();
    if (!chunk) return filled;
    if (chunk.length > bytes.length - filled) throw new Error('the server sent more bytes than it was asked for');
    bytes.set(chunk, filled);
    filled += chunk.length;
    came(chunk.length);
  }
}

export class HttpSource implements Source {
  readonly size: number;
  readonly name: string;
  #received: number;

  constructor(
    private readonly client: Client,
    private readonly retries: Retries,
    private readonly state: State,
    /** The first bytes of the file. */
    private readonly head: Uint8Array,
    readonly unnoticed: string | undefined,
  ) {
    this.size = state.size;
    this.#received = head.length;
    this.name = client.address.name;
  }

  get network(): Network {
    return { received: this.#received, sent: 0, retries: this.retries.count };
  }

  get address(): Address {
    return this.client.address;
  }

  async read(offset: number, length: number, { signal }: { signal: AbortSignal }): Promise<Uint8Array> {
    if (offset + length <= this.head.length) return this.head.slice(offset, offset + length);
    const bytes = new Uint8Array(length);
    let filled = 0;
    let before = 0;
    const progressed = () => {
      const hasCome = filled > before;
      before = filled;
      return hasCome;
    };
    const came = (length: number) => {
      filled += length;
      this.#received += length;
    };
    const rest = async () => {
      while (filled < length) await this.#fetch(offset + filled, bytes.subarray(filled), came, signal);
    };
    await this.retries.run(rest, progressed, signal);
    return bytes;
  }

  /** Fetches what the server sends of `bytes` at `offset`: at least one byte. */
  async #fetch(offset: number, bytes: Uint8Array, came: (length: number) => void, signal: AbortSignal): Promise<void> {
    const asked = { start: offset, end: offset + bytes.length };
    const exchange = await this.client.ask('GET', rangeHeader(asked), signal);
    try {
      const { end, size } = checkPart(exchange.response, asked);
      this.retries.answered();
      checkState(this.state, exchange.response, size);
      // The file ends before the range.
      if (end === offset) throw wasChanged();
      const filled = await fill(exchange, bytes.subarray(0, end - offset), came);
      if (filled < end - offset) throw new Passing('the connection broke');
    } finally {
      exchange.end();
    }
  }
}
