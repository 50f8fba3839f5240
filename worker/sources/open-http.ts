// Opens a file on a server. The response to the first request decides how the file is read.

import { checkNames } from '../errors/argument-checks.js';
import { cancelled, DecantError, errorOptionsOf, reasonOf } from '../errors/errors.js';
import { type Address, addressOf } from '../http/address.js';
import type { HttpExchange } from '../http/exchange.js';
import {
  checkSameState,
  checkState,
  type FileState,
  newEtag,
  SourceAlternates,
  SourceChanged,
  stateOf,
  whyUnverified,
} from '../http/file-state.js';
import { HttpClient, type HttpPlatform } from '../http/http-client.js';
import { failureOf, NoAnswer, TransientFailure } from '../http/http-failures.js';
import { HTTP_OPTIONS, milliseconds } from '../http/http-options.js';
import type { HttpOptions } from '../http/http-types.js';
import {
  checkRangeResponse,
  contentCoding,
  contentLength,
  EncodedFile,
  hidesRange,
  isWholeFile,
  WrongLength,
} from '../http/range-response.js';
import type { ByteRange } from '../http/ranges.js';
import { MIN_PROGRESS, Retries } from '../http/retries.js';
import { openCustomSource, openSequential } from './custom-sources.js';
import { SequentialFile } from './custom-stream.js';
import { atHost, HttpSource, rangeHeader, receive } from './http-source.js';
import type { OpenedSource } from './opened-source.js';
import { BufferedFile, receiveWhole, sequentialBody, unnoticedEnd } from './whole-file.js';

/** The bytes of the first request: the headers and first tables of most images. */
const HEAD = 64 << 10;
/** Range Not Satisfiable: the file ends before the range. */
const NOT_THERE = 416;
/** After this many changes of the state, the server is assumed to serve several states at once. */
const MAX_SIZE_DOUBTS = 3;

/**
 * Opens a file for `httpSource`. Fails with `source` if the server does not respond, with `unsupported` if it sends only whole
 * files and does not state the size of a large one, and with `cancelled` when `options.signal` is aborted.
 */
export async function openHttp(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions = {},
): Promise<OpenedFile> {
  checkNames('httpSource', options, HTTP_OPTIONS);
  const { opened, address } = await openFirst(platform, url, options);
  if (!isSequential(opened) || opened.length !== undefined) return opened;
  await opened.stream.cancel();
  const reason =
    "its server sends only whole files, and this one is large and of unknown size: pass the URL to 'open', which reads it once";
  throw new DecantError('unsupported', `Could not open '${address.shown}': ${reason}`);
}

/** Opens a URL that was passed to `open`. Fails as `openHttp`, except that a large file of unknown size becomes a stream. */
export async function openAddress(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<OpenedSource> {
  const { opened, address } = await openFirst(platform, url, options);

  if (isSequential(opened)) return openSequential(opened);
  const close = async () => {
    if (opened instanceof HttpSource) opened.stop();
  };
  return Object.assign(openCustomSource(opened), { identity: address.url.href, close });
}

type OpenedFile = HttpSource | BufferedFile | SequentialFile;

const isSequential = (opened: OpenedFile | undefined): opened is SequentialFile =>
  opened !== undefined && 'stream' in opened;

async function openFirst(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<{ opened: OpenedFile; address: Address }> {
  const address = addressOf(url);
  const { patience, onWaiting } = options;
  const retries = new Retries(patience === undefined ? undefined : milliseconds('patience', patience), onWaiting);
  const client = new HttpClient(address, platform, options, retries);
  // The opened file outlives the caller's signal.
  const ending = new AbortController();
  const cancel = () => ending.abort();
  options.signal?.addEventListener('abort', cancel);
  if (options.signal?.aborted) cancel();
  const head = new Head(client, retries);
  try {
    const opened = await retries.run(
      (signal) => begin(client, retries, head, signal),
      () => head.progressed(),
      ending.signal,
    );
    return { opened, address };
  } catch (thrown) {
    if (ending.signal.aborted) throw cancelled();
    if (thrown instanceof DecantError) throw thrown;
    throw new DecantError('source', `Could not open '${address.shown}': ${reasonOf(thrown)}`, errorOptionsOf(thrown));
  } finally {
    options.signal?.removeEventListener('abort', cancel);
  }
}

/** Sends the first request, within the limits of the host. */
async function begin(client: HttpClient, retries: Retries, head: Head, signal: AbortSignal): Promise<OpenedFile> {
  const { slots } = client;
  await slots.acquire(signal);
  return beginAtOnce(client, retries, head, signal).finally(() => slots.release());
}

/** Sends the first request. `encoded` is given if the server encoded its first response: the stored file is requested then. */
async function beginAtOnce(
  client: HttpClient,
  retries: Retries,
  head: Head,
  signal: AbortSignal,
  encoded?: EncodedFile,
): Promise<OpenedFile> {
  const exchange = await client.request('GET', rangeHeader(head.remaining), signal);
  let opened: OpenedFile | undefined;
  let next: EncodedFile | undefined;
  try {
    opened = isWholeFile(exchange.response)
      ? await beginWhole(client, retries, exchange)
      : await head.receive(exchange, signal);
    if (encoded) await checkStored(opened, encoded, client.address.name);
  } catch (thrown) {
    atHost(thrown, exchange.host);
    // The server encoded the range, not the file.
    if (encoded && thrown instanceof WrongLength) throw encoded;
    if (!(thrown instanceof EncodedFile) || !thrown.isGzip || !client.skipDecoding()) throw thrown;
    next = thrown;
  } finally {
    if (!isSequential(opened)) exchange.end();
  }
  return opened ?? beginAtOnce(client, retries, head, signal, next);
}

/**
 * Throws `encoded` if the stored bytes are gzip and the name does not say so: with `inputFormat: 'raw'`, they would be taken for
 * the disk itself.
 */
async function checkStored(opened: OpenedFile, encoded: EncodedFile, name: string): Promise<void> {
  if (/\.t?gz$/i.test(name)) return;
  if (isSequential(opened)) {
    await opened.stream.cancel();
    throw encoded;
  }
  const { signal } = new AbortController();
  const [first, second] = await opened.read(0, Math.min(opened.size, 2), { signal });
  if (first === 0x1f && second === 0x8b) throw encoded;
}

/** Receives the first bytes of a file, with as many requests as needed: each continues where the last one broke off. */
class Head {
  /** The state and the buffer, known from the first response. */
  #first: { state: FileState; host: string; doubt: string | undefined; bytes: Uint8Array } | undefined;
  #received = 0;
  #before = 0;
  /** How often the response that states the size came from another state of the file. */
  #sizeDoubts = 0;

  constructor(
    private readonly client: HttpClient,
    private readonly retries: Retries,
  ) {}

  get remaining(): ByteRange {
    return { start: this.#received, end: this.#first?.bytes.length ?? HEAD };
  }

  /** Whether enough bytes have arrived since the last call. */
  progressed(): boolean {
    const hasCome = this.#received - this.#before >= MIN_PROGRESS;
    if (hasCome) this.#before = this.#received;
    return hasCome;
  }

  /** Receives the response to a request for `remaining`. */
  async receive(exchange: HttpExchange, signal: AbortSignal): Promise<HttpSource> {
    const requested = this.remaining;
    const { response } = exchange;
    const part = checkRangeResponse(response, requested, exchange);
    if (this.#first) this.#checkState(this.#first.state, response, part.size);
    this.#first ??= await this.#begin(exchange, part, signal);
    const { bytes, state, host, doubt } = this.#first;
    await receive(exchange, Math.min(bytes.length, part.end) - requested.start, (came) => {
      this.retries.received(came.length);
      bytes.set(came, this.#received);
      this.#received += came.length;
    }).catch((thrown) => {
      // All bytes have arrived: the broken connection does not matter.
      if (!(thrown instanceof TransientFailure) || this.#received < bytes.length) throw thrown;
    });
    const beginning = { state, head: bytes.subarray(0, this.#received), host };
    return new HttpSource(this.client, this.retries, beginning, doubt);
  }

  async #begin({ response, host }: HttpExchange, part: { end: number; size: number | undefined }, signal: AbortSignal) {
    let { size } = part;
    if (size === undefined) {
      const stating = await sizeOf(this.client, response, signal);
      size = stating.size;
      this.#requireSame(stateOf(response, size), stating.response, host);
    }
    const state = stateOf(response, size);
    const doubt = whyUnverified(response, state, this.client.address.url.origin);
    return { state, host, doubt, bytes: new Uint8Array(Math.min(size, part.end)) };
  }

  #checkState(state: FileState, response: Response, size: number | undefined): void {
    this.#startAgainIf(() => {
      checkState(state, response, size);
      if (response.status === NOT_THERE || newEtag(state, response) !== undefined) throw new SourceChanged();
    });
  }

  /** Checks that `response`, which states the size, is of the same state of the file as the first one from `host`. */
  #requireSame(state: FileState, response: Response, host: string): void {
    try {
      checkSameState(state, response);
    } catch (thrown) {
      this.#sizeDoubts += 1;
      if (this.#sizeDoubts >= MAX_SIZE_DOUBTS) throw new SourceAlternates([host]);
      throw new TransientFailure(reasonOf(thrown), undefined, { cause: thrown });
    }
  }

  /** Throws `TransientFailure` if `check` finds that the file was changed: the next request starts again. */
  #startAgainIf(check: () => void): void {
    try {
      check();
    } catch (thrown) {
      this.#first = undefined;
      this.#received = 0;
      this.#before = 0;
      throw new TransientFailure(reasonOf(thrown), undefined, { cause: thrown });
    }
  }
}

async function beginWhole(
  client: HttpClient,
  retries: Retries,
  exchange: HttpExchange,
): Promise<BufferedFile | SequentialFile> {
  const { response } = exchange;
  const { name, shown, url } = client.address;
  // `fetch` decodes a truncated body without an error, in Node and in browsers.
  const coding = contentCoding(response);
  if (coding !== undefined) throw new EncodedFile(coding, 'so a truncated file would go unnoticed');
  const unnoticed = unnoticedEnd(response, url.origin);
  const came = await receiveWhole(exchange, retries);
  if ('head' in came) {
    return new SequentialFile(sequentialBody(exchange, came.head, retries), retries, name, shown, unnoticed);
  }
  return new BufferedFile(came.bytes, name, unnoticed, {
    received: came.bytes.length,
    sent: 0,
    retries: retries.count,
  });
}

/**
 * Requests the size of a file that is not empty, if Content-Range of `part` does not state it. Resolves to the size and the
 * response that states it. Some servers do not allow HEAD:
 * presigned URLs are for one method, and so are many CORS rules. Others answer HEAD with a length of 0. GET is tried then.
 */
async function sizeOf(
  client: HttpClient,
  part: Response,
  signal: AbortSignal,
): Promise<{ size: number; response: Response }> {
  const size = (response: Response) =>
    response.status === 200 && contentCoding(response) === undefined ? contentLength(response) || undefined : undefined;
  const head = await answerTo(client, 'HEAD', signal).catch((thrown) => {
    if (!(thrown instanceof NoAnswer)) throw thrown;
  });
  const stated = head && size(head.response);
  if (stated !== undefined) return { size: stated, response: head!.response };
  const { response: whole, secrets } = await answerTo(client, 'GET', signal);
  const length = size(whole);
  if (length !== undefined) return { size: length, response: whole };
  const failure = whole.status === 200 ? undefined : failureOf(whole, { secrets });
  if (failure instanceof TransientFailure) throw failure;
  throw new Error(`the server does not state the size of the file${whereSizeIsMissing(part, whole)}`);
}

/** The headers that would state the size: a server can expose them to a page. */
const whereSizeIsMissing = (part: Response, whole: Response): string =>
  hidesRange(part)
    ? '; it can send Access-Control-Expose-Headers: Content-Range'
    : `: Content-Range of its response ${part.status} to a range has no size, and its response ${whole.status} to GET has no Content-Length`;

async function answerTo(client: HttpClient, method: 'HEAD' | 'GET', signal: AbortSignal): Promise<HttpExchange> {
  const exchange = await client.request(method, undefined, signal);
  exchange.end();
  return exchange;
}
