// A file on a server as a source: fetched by ranges, each of them checked to be of one state of the file.

import { cancelled, DecantError, orCancelled, reasonOf } from '../errors.js';
import { type Address, addressOf, lastingQuery } from '../http/address.js';
import {
  Changed,
  checkPart,
  checkState,
  isWhole,
  lengthOf,
  type Range,
  type State,
  stateOf,
  unnoticed,
} from '../http/answer.js';
import { Client, type Exchange, type HttpPlatform } from '../http/client.js';
import { Overloaded, Passing, refusal, Unanswered } from '../http/failures.js';
import { Host } from '../http/host.js';
import { HTTP_OPTIONS } from '../http/options.js';
import { Pace } from '../http/pace.js';
import { type FetchRange, Queue } from '../http/queue.js';
import { Retries } from '../http/retry.js';
import { timeOf } from '../http/seconds.js';
import type { HttpOptions } from '../http/types.js';
import type { Wanted } from '../http/wanted.js';
import { checkNames } from '../option-names.js';
import type { Network, Source } from '../types.js';
import type { OpenedSource } from './opened-source.js';
import { openOwn } from './own.js';
import { ComingFile, KeptFile, openComing, receiveWhole, unnoticedEnd } from './whole.js';

/** The first request brings as many bytes: the headers and first tables of most images. */
const HEAD = 64 << 10;
const PATIENCE = 600;

/**
 * Asks the server for the size of the file; one that sends only whole files, for the file. Fails with `source` where it
 * does not answer, with `unsupported` where it sends a large file as a whole without a word of its size, and with `cancelled`
 * when `options.signal` is aborted.
 */
export async function openHttp(platform: HttpPlatform, url: string | URL, options: HttpOptions = {}): Promise<Opened> {
  checkNames('httpSource', options, HTTP_OPTIONS);
  const { opened, address } = await ask(platform, url, options);
  if (!(opened instanceof ComingFile) || opened.length !== undefined) return opened;
  await opened.stream.cancel();
  const reason =
    "its server sends only whole files, and this one is large and of unknown size: hand the address to 'open', which reads it once";
  throw new DecantError('unsupported', `Could not open '${address.shown}': ${reason}`);
}

/** The same for `open`, to which an address is the file. A large file that comes as a whole is a stream. */
export async function openAddress(
  platform: HttpPlatform,
  url: string | URL,
  signal: AbortSignal | undefined,
): Promise<OpenedSource> {
  const { opened, address } = await ask(platform, url, signal ? { signal } : {});
  if (opened instanceof ComingFile) return openComing(opened);
  return { ...openOwn(opened), identity: address.url.href };
}

type Opened = HttpSource | KeptFile | ComingFile;

async function ask(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<{ opened: Opened; address: Address }> {
  const address = addressOf(url);
  const client = new Client(address, platform, options);
  const retries = new Retries(timeOf('patience', options.patience ?? PATIENCE));
  // What is opened lives longer than the caller's signal counts.
  const ending = new AbortController();
  const cancel = () => ending.abort();
  options.signal?.addEventListener('abort', cancel);
  if (options.signal?.aborted) cancel();
  try {
    const opened = await retries.run(
      () => begin(client, retries, ending.signal),
      () => false,
      ending.signal,
    );
    return { opened, address };
  } catch (thrown) {
    if (ending.signal.aborted) throw cancelled();
    if (thrown instanceof DecantError) throw thrown;
    throw notOpened(address, reasonOf(thrown), { cause: thrown });
  } finally {
    options.signal?.removeEventListener('abort', cancel);
  }
}

const notOpened = ({ shown }: Address, reason: string, options?: ErrorOptions): DecantError =>
  new DecantError('source', `Could not open '${shown}': ${reason}`, options);

/** The first request. */
async function begin(client: Client, retries: Retries, signal: AbortSignal): Promise<Opened> {
  const host = Host.of(client.address.url);
  await host.enter(signal);
  return beginAtOnce(client, retries, signal).finally(() => host.end());
}

async function beginAtOnce(client: Client, retries: Retries, signal: AbortSignal): Promise<Opened> {
  const asked = { start: 0, end: HEAD };
  const exchange = await client.ask('GET', rangeHeader(asked), signal);
  retries.came();
  let opened: Opened | undefined;
  try {
    opened = isWhole(exchange.response)
      ? await beginWhole(client, retries, exchange)
      : await beginParts(client, retries, exchange, asked, signal);
    return opened;
  } finally {
    if (!(opened instanceof ComingFile)) exchange.end();
  }
}

async function beginParts(
  client: Client,
  retries: Retries,
  exchange: Exchange,
  asked: Range,
  signal: AbortSignal,
): Promise<HttpSource> {
  const { response } = exchange;
  const part = checkPart(response, asked);
  const size = part.size ?? (await sizeOf(client, signal));
  const head = new Uint8Array(Math.min(size, part.end));
  await receive(exchange, head.length, (bytes, at) => head.set(bytes, at));
  const state = stateOf(response, size);
  return new HttpSource(client, retries, state, head, unnoticed(response, state, client.address.url.origin));
}

async function beginWhole(client: Client, retries: Retries, exchange: Exchange): Promise<KeptFile | ComingFile> {
  const { name, shown, url } = client.address;
  const unnoticed = unnoticedEnd(exchange.response, url.origin);
  const came = await receiveWhole(exchange);
  if ('begun' in came) return new ComingFile(exchange, came.begun, name, shown, unnoticed);
  return new KeptFile(came.bytes, name, unnoticed, { received: came.bytes.length, sent: 0, retries: retries.count });
}

/**
 * The size where Content-Range cannot be seen, of a file that is not empty. Some servers allow no HEAD: presigned addresses
 * are for one method, and so are many rules for other origins. Some say that its body is empty, as it is.
 */
async function sizeOf(client: Client, signal: AbortSignal): Promise<number> {
  const size = (response: Response) => (response.status === 200 ? lengthOf(response) || undefined : undefined);
  const head = await answerTo(client, 'HEAD', signal).catch((thrown) => {
    if (!(thrown instanceof Unanswered)) throw thrown;
  });
  const told = head && size(head);
  if (told !== undefined) return told;
  const whole = await answerTo(client, 'GET', signal);
  const length = size(whole);
  if (length !== undefined) return length;
  const failure = whole.status === 200 ? undefined : refusal(whole);
  if (failure instanceof Passing) throw failure;
  throw new Error(
    'the server does not say how large the file is; it can send Access-Control-Expose-Headers: Content-Range',
  );
}

async function answerTo(client: Client, method: 'HEAD' | 'GET', signal: AbortSignal): Promise<Response> {
  const { response, end } = await client.ask(method, undefined, signal);
  end();
  return response;
}

const rangeHeader = ({ start, end }: Range): string => `bytes=${start}-${end - 1}`;

/**
 * Hands the body of an answer on as it comes, with the place in it of each part. Fails where it has other than `length`
 * bytes.
 */
async function receive(
  { next }: Exchange,
  length: number,
  take: (bytes: Uint8Array, at: number) => void,
): Promise<void> {
  let at = 0;
  // A body of nothing is an empty file's, or none.
  while (length > 0) {
    const bytes = await next();
    if (!bytes) break;
    if (bytes.length > length - at) throw new Error('the server sent more bytes than it was asked for');
    take(bytes, at);
    at += bytes.length;
  }
  if (at < length) throw new Passing('the connection broke');
}

export class HttpSource implements Source {
  readonly size: number;
  readonly name: string;
  #received: number;
  #isChanged = false;
  readonly #pace = new Pace();
  readonly #queue: Queue;
  /** What will be read, by its offset. */
  readonly #expected = new Map<number, Wanted[]>();

  constructor(
    private readonly client: Client,
    private readonly retries: Retries,
    private readonly known: State,
    /** The first bytes of the file. */
    private readonly head: Uint8Array,
    readonly unnoticed: string | undefined,
  ) {
    const fetchRange: FetchRange = (range, take, signal) => this.#fetchAll(range, take, signal);
    this.#queue = new Queue(fetchRange, this.#pace, Host.of(client.address.url));
    this.size = known.size;
    this.#received = head.length;
    this.name = client.address.name;
  }

  get network(): Network {
    const { count, silence } = this.retries;
    return { received: this.#received, sent: 0, retries: count, silence };
  }

  get state(): string | undefined {
    if (this.#isChanged) return undefined;
    const { etag, modified, size } = this.known;
    const { shown, url } = this.client.address;
    const told = etag ?? modified;
    return told === undefined ? undefined : JSON.stringify([shown, lastingQuery(url), size, told]);
  }

  /** Asks once more for the state of the file: an answer tells the one with which it began. */
  async verify({ signal }: { signal: AbortSignal }): Promise<void> {
    const isKnown = this.known.etag !== undefined || this.known.modified !== undefined;
    if (!isKnown || this.size === 0) return;
    const first = this.#queue.fetch({ start: 0, end: 1 });
    await orCancelled(signal, first.complete).finally(() => {
      if (signal.aborted) this.#queue.drop(first);
    });
  }

  expect(ranges: readonly { offset: number; length: number }[]): void {
    if (ranges.length === 0) this.#forget();
    for (const { offset, length } of ranges) {
      if (offset + length <= this.head.length) continue;
      const wanted = this.#queue.expect({ start: offset, end: offset + length });
      this.#expected.set(offset, [...(this.#expected.get(offset) ?? []), wanted]);
    }
    this.#queue.start();
  }

  async read(offset: number, length: number, { signal }: { signal: AbortSignal }): Promise<Uint8Array> {
    if (offset + length <= this.head.length) return this.head.slice(offset, offset + length);
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

  /** What was expected of this range, if it was; that is read once. */
  #take(offset: number, length: number): Wanted | undefined {
    const here = this.#expected.get(offset)?.filter(({ isDropped }) => !isDropped) ?? [];
    const wanted = here.find((wanted) => wanted.length === length);
    const others = here.filter((other) => other !== wanted);
    if (others.length > 0) this.#expected.set(offset, others);
    else this.#expected.delete(offset);
    return wanted;
  }

  /** Nobody will read what is expected. */
  #forget(): void {
    const expected = [...this.#expected.values()].flat();
    this.#expected.clear();
    for (const wanted of expected) this.#queue.drop(wanted);
  }

  /** Fetches all of `range`, with as many requests as it takes. */
  async #fetchAll(range: Range, take: (bytes: Uint8Array) => void, signal: AbortSignal): Promise<void> {
    let { start: at } = range;
    let before = at;
    const progressed = () => {
      const hasCome = at > before;
      before = at;
      return hasCome;
    };
    const came = (bytes: Uint8Array) => {
      at += bytes.length;
      this.#received += bytes.length;
      this.retries.came();
      take(bytes);
    };
    const rest = async () => {
      while (at < range.end) await this.#fetch({ start: at, end: range.end }, came, signal);
    };
    await this.retries.run(rest, progressed, signal);
  }

  /** Fetches what the server sends of `asked` by one request: at least one byte. */
  async #fetch(asked: Range, came: (bytes: Uint8Array) => void, signal: AbortSignal): Promise<void> {
    const begin = performance.now();
    try {
      const exchange = await this.client.ask('GET', rangeHeader(asked), signal);
      try {
        const { end, size } = checkPart(exchange.response, asked);
        this.retries.came();
        checkState(this.known, exchange.response, size);
        // The file ends before the range.
        if (end === asked.start) throw new Changed();
        const answered = performance.now();
        this.#pace.answered(answered - begin);
        await receive(exchange, end - asked.start, came);
        this.#pace.ended(end - asked.start, performance.now() - answered);
      } finally {
        exchange.end();
      }
    } catch (thrown) {
      if (thrown instanceof Changed) this.#isChanged = true;
      if (thrown instanceof Overloaded || thrown instanceof Unanswered) this.#pace.overloaded();
      throw thrown;
    }
  }
}
