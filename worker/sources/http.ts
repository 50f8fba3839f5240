// Opens a file on a server: the first request tells how it can be read.

import { cancelled, DecantError, reasonOf } from '../errors.js';
import { type Address, addressOf } from '../http/address.js';
import { checkPart, codingOf, Encoded, isWhole, lengthOf, type Range } from '../http/answer.js';
import { Client, type HttpPlatform } from '../http/client.js';
import type { Exchange } from '../http/exchange.js';
import { madeOf, Passing, refusal, Unanswered } from '../http/failures.js';
import { HTTP_OPTIONS } from '../http/options.js';
import { Retries } from '../http/retry.js';
import { timeOf } from '../http/seconds.js';
import { stateOf, unnoticed } from '../http/state.js';
import type { HttpOptions } from '../http/types.js';
import { checkNames } from '../option-names.js';
import { atHost, HttpSource, rangeHeader, receive } from './http-source.js';
import type { OpenedSource } from './opened-source.js';
import { openOwn } from './own.js';
import { ComingFile, KeptFile, openComing, receiveWhole, unnoticedEnd } from './whole.js';

/** The first request brings as many bytes: the headers and first tables of most images. */
const HEAD = 64 << 10;

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
  options: HttpOptions,
): Promise<OpenedSource> {
  const { opened, address } = await ask(platform, url, options);
  if (opened instanceof ComingFile) return openComing(opened);
  return Object.assign(openOwn(opened), { identity: address.url.href });
}

type Opened = HttpSource | KeptFile | ComingFile;

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
    throw new DecantError('source', `Could not open '${address.shown}': ${reasonOf(thrown)}`, madeOf(thrown));
  } finally {
    options.signal?.removeEventListener('abort', cancel);
  }
}

/** The first request. */
async function begin(client: Client, retries: Retries, signal: AbortSignal): Promise<Opened> {
  const { host } = client;
  await host.enter(signal);
  return beginAtOnce(client, retries, signal).finally(() => host.end());
}

async function beginAtOnce(client: Client, retries: Retries, signal: AbortSignal): Promise<Opened> {
  const asked = { start: 0, end: HEAD };
  const exchange = await client.ask('GET', rangeHeader(asked), signal);
  let opened: Opened | undefined;
  try {
    opened = isWhole(exchange.response)
      ? await beginWhole(client, retries, exchange)
      : await beginParts(client, retries, exchange, asked, signal);
  } catch (thrown) {
    atHost(thrown, exchange.host);
    const isEncoded = thrown instanceof Encoded;
    if (!isEncoded || !client.wantStored()) throw thrown;
  } finally {
    if (!(opened instanceof ComingFile)) exchange.end();
  }
  return opened ?? beginAtOnce(client, retries, signal);
}

async function beginParts(
  client: Client,
  retries: Retries,
  exchange: Exchange,
  asked: Range,
  signal: AbortSignal,
): Promise<HttpSource> {
  const { response, who } = exchange;
  const part = checkPart(response, asked, who);
  const size = part.size ?? (await sizeOf(client, signal));
  const head = new Uint8Array(Math.min(size, part.end));
  await receive(exchange, head.length, (bytes, at) => {
    retries.came(bytes.length);
    head.set(bytes, at);
  });
  const state = stateOf(response, size);
  const { origin } = client.address.url;
  return new HttpSource(client, retries, { state, head, host: exchange.host }, unnoticed(response, state, origin));
}

async function beginWhole(client: Client, retries: Retries, exchange: Exchange): Promise<KeptFile | ComingFile> {
  const { response } = exchange;
  const { name, shown, url } = client.address;
  // A store that says so of a compressed file has it as it is.
  const coding = codingOf(response) ?? '';
  if (/\bgzip$/.test(coding) && /\.t?gz$/i.test(name) && client.canStore) throw new Encoded(coding);
  const unnoticed = unnoticedEnd(response, url.origin);
  const came = await receiveWhole(exchange, retries);
  if ('begun' in came) return new ComingFile(exchange, came.begun, retries, name, shown, unnoticed);
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
