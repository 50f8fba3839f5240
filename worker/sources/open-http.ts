// Opens a file on a server: the first request tells how it can be read.

import { cancelled, DecantError, reasonOf } from '../errors/errors.js';
import { checkNames } from '../errors/option-names.js';
import { type Address, addressOf } from '../http/address.js';
import {
  checkPart,
  codingOf,
  Encoded,
  hidesRange,
  isWhole,
  lengthOf,
  type Range,
  WrongLength,
} from '../http/answer.js';
import { Client, type HttpPlatform } from '../http/client.js';
import type { Exchange } from '../http/exchange.js';
import { madeOf, Passing, refusal, Unanswered } from '../http/failures.js';
import { HTTP_OPTIONS } from '../http/http-options.js';
import { LEAST, Retries } from '../http/retry.js';
import { timeOf } from '../http/seconds.js';
import { Changed, checkState, type State, stateOf, unnoticed } from '../http/state.js';
import type { HttpOptions } from '../http/types.js';
import { openCustomSource } from './custom-source.js';
import { atHost, HttpSource, rangeHeader, receive } from './http-source.js';
import type { OpenedSource } from './opened-source.js';
import { BufferedFile, openSequential, receiveWhole, SequentialFile, unnoticedEnd } from './whole-file.js';

/** The first request brings as many bytes: the headers and first tables of most images. */
const HEAD = 64 << 10;
/** Range Not Satisfiable: the file ends before. */
const NOT_THERE = 416;

/**
 * Asks the server for the size of the file; one that sends only whole files, for the file. Fails with `source` where it
 * does not answer, with `unsupported` where it sends a large file as a whole without a word of its size, and with `cancelled`
 * when `options.signal` is aborted.
 */
export async function openHttp(platform: HttpPlatform, url: string | URL, options: HttpOptions = {}): Promise<Opened> {
  checkNames('httpSource', options, HTTP_OPTIONS);
  const { opened, address } = await ask(platform, url, options);
  if (!(opened instanceof SequentialFile) || opened.length !== undefined) return opened;
  await opened.stream.cancel();
  const reason =
    "its server sends only whole files, and this one is large and of unknown size: hand the address to 'open', which reads it once";
  throw new DecantError('unsupported', `Could not open '${address.shown}': ${reason}`);
}

/** The same for `open`, to which an address is the file. A large file that comes as a whole is a stream. */
export async function openAddress(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<OpenedSource> {
  const { opened, address } = await ask(platform, url, options);
  if (opened instanceof SequentialFile) return openSequential(opened);
  return Object.assign(openCustomSource(opened), { identity: address.url.href });
}

type Opened = HttpSource | BufferedFile | SequentialFile;

async function ask(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<{ opened: Opened; address: Address }> {
  const address = addressOf(url);
  const { patience, onWaiting } = options;
  const retries = new Retries(patience === undefined ? undefined : timeOf('patience', patience), onWaiting);
  const client = new Client(address, platform, options, retries);
  // What is opened lives longer than the caller's signal counts.
  const ending = new AbortController();
  const cancel = () => ending.abort();
  options.signal?.addEventListener('abort', cancel);
  if (options.signal?.aborted) cancel();
  const head = new Head(client, retries);
  try {
    const opened = await retries.run(
      () => begin(client, retries, head, ending.signal),
      () => head.progressed(),
      ending.signal,
    );
    return { opened, address };
  } catch (thrown) {
    if (ending.signal.aborted) throw cancelled();
    if (thrown instanceof DecantError) throw thrown;
    throw new DecantError('source', `Could not open '${address.shown}': ${reasonOf(thrown)}`, madeOf(thrown));
  } finally {
    options.signal?.removeEventListener('abort', cancel);
  }
}

/** The first request. */
async function begin(client: Client, retries: Retries, head: Head, signal: AbortSignal): Promise<Opened> {
  const { host } = client;
  await host.enter(signal);
  return beginAtOnce(client, retries, head, signal).finally(() => host.end());
}

/** `encoded` says why the file is asked for as it is stored. */
async function beginAtOnce(
  client: Client,
  retries: Retries,
  head: Head,
  signal: AbortSignal,
  encoded?: Encoded,
): Promise<Opened> {
  const exchange = await client.ask('GET', rangeHeader(head.remaining), signal);
  let opened: Opened | undefined;
  let next: Encoded | undefined;
  try {
    opened = isWhole(exchange.response)
      ? await beginWhole(client, retries, exchange)
      : await head.receive(exchange, signal);
  } catch (thrown) {
    atHost(thrown, exchange.host);
    // It has encoded the range, and not the file.
    if (encoded && thrown instanceof WrongLength) throw encoded;
    if (!(thrown instanceof Encoded) || !client.wantStored()) throw thrown;
    next = thrown;
  } finally {
    if (!(opened instanceof SequentialFile)) exchange.end();
  }
  return opened ?? beginAtOnce(client, retries, head, signal, next);
}

/** The first bytes of a file, by as many requests as it takes: each continues where the one before broke. */
class Head {
  /** What the first answer has said. */
  #told: { state: State; host: string; doubt: string | undefined; bytes: Uint8Array } | undefined;
  #received = 0;
  #before = 0;

  constructor(
    private readonly client: Client,
    private readonly retries: Retries,
  ) {}

  get remaining(): Range {
    return { start: this.#received, end: this.#told?.bytes.length ?? HEAD };
  }

  /** Whether enough has come since it was last asked. */
  progressed(): boolean {
    const hasCome = this.#received - this.#before >= LEAST;
    if (hasCome) this.#before = this.#received;
    return hasCome;
  }

  /** Receives what the answer to a request for `remaining` brings. */
  async receive(exchange: Exchange, signal: AbortSignal): Promise<HttpSource> {
    const asked = this.remaining;
    const { response, who } = exchange;
    const part = checkPart(response, asked, who);
    if (this.#told) this.#checkState(this.#told.state, response, part.size);
    this.#told ??= await this.#begin(exchange, part, signal);
    const { bytes, state, host, doubt } = this.#told;
    await receive(exchange, Math.min(bytes.length, part.end) - asked.start, (came) => {
      this.retries.came(came.length);
      bytes.set(came, this.#received);
      this.#received += came.length;
    }).catch((thrown) => {
      // All has come all the same.
      if (!(thrown instanceof Passing) || this.#received < bytes.length) throw thrown;
    });
    const beginning = { state, head: bytes.subarray(0, this.#received), host };
    return new HttpSource(this.client, this.retries, beginning, doubt);
  }

  async #begin({ response, host }: Exchange, part: { end: number; size: number | undefined }, signal: AbortSignal) {
    const size = part.size ?? (await sizeOf(this.client, response, signal));
    const state = stateOf(response, size);
    const doubt = unnoticed(response, state, this.client.address.url.origin);
    return { state, host, doubt, bytes: new Uint8Array(Math.min(size, part.end)) };
  }

  /** Fails with `Passing` where the file was changed: the next request begins it again. */
  #checkState(state: State, response: Response, size: number | undefined): void {
    try {
      checkState(state, response, size);
      if (response.status === NOT_THERE) throw new Changed();
    } catch (thrown) {
      this.#told = undefined;
      this.#received = 0;
      this.#before = 0;
      throw new Passing(reasonOf(thrown), undefined, { cause: thrown });
    }
  }
}

async function beginWhole(
  client: Client,
  retries: Retries,
  exchange: Exchange,
): Promise<BufferedFile | SequentialFile> {
  const { response } = exchange;
  const { name, shown, url } = client.address;
  // A store that says so of a compressed file has it as it is.
  const coding = codingOf(response) ?? '';
  if (/\bgzip$/.test(coding) && /\.t?gz$/i.test(name) && client.canStore) throw new Encoded(coding);
  const unnoticed = unnoticedEnd(response, url.origin);
  const came = await receiveWhole(exchange, retries);
  if ('begun' in came) return new SequentialFile(exchange, came.begun, retries, name, shown, unnoticed);
  return new BufferedFile(came.bytes, name, unnoticed, {
    received: came.bytes.length,
    sent: 0,
    retries: retries.count,
  });
}

/**
 * The size where Content-Range of `part` does not have it, of a file that is not empty. Some servers allow no HEAD: presigned addresses
 * are for one method, and so are many rules for other origins. Some say that its body is empty, as it is.
 */
async function sizeOf(client: Client, part: Response, signal: AbortSignal): Promise<number> {
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
  throw new Error(`the server does not say how large the file is${whereSizeIsMissing(part, whole)}`);
}

/** By which headers the size would be known: a page can be shown them. */
const whereSizeIsMissing = (part: Response, whole: Response): string =>
  hidesRange(part)
    ? '; it can send Access-Control-Expose-Headers: Content-Range'
    : `: Content-Range of its answer ${part.status} to a range has no size, and its answer ${whole.status} to GET no Content-Length`;

async function answerTo(client: Client, method: 'HEAD' | 'GET', signal: AbortSignal): Promise<Response> {
  const { response, end } = await client.ask(method, undefined, signal);
  end();
  return response;
}
