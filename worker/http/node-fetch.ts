// Node: a `fetch` for reads by `node:http`, since Node's own `fetch` copies each chunk and takes twice the time; others through the
// proxies in the environment, which Node's own ignores, for responses that stay encoded, and to allowed addresses only.

import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { buildConnector, Dispatcher, RequestInit as UndiciInit } from 'undici';
import type { AddressGuard } from './http-client.js';
import { hidesStatus, networkReason, PROXY_AUTHENTICATION_REQUIRED } from './http-failures.js';
import type { Fetch } from './http-types.js';
import { agentFor } from './node-agents.js';
import { hasNodeFetch, type ReadableResponse, readableResponse, responseTo } from './node-response.js';
import { namesProxy, proxyFor } from './proxy-environment.js';
import { openTunnel, proxyAuthorization, proxyRefusal, proxySilence } from './proxy-tunnel.js';
import { openSocksTunnel } from './socks-tunnel.js';

/** Resolves to the `fetch` for reads: through the proxies in the environment, if there are any. */
export async function readingFetch(): Promise<Fetch> {
  if (!namesProxy(process.env))
    return ((url: string | URL, init: ReadInit) => (hasNodeFetch() ? read(url, init) : fetch(url, init))) as Fetch;
  return environmentFetch();
}

/** The part of `RequestInit` that `read` uses. */
interface ReadInit {
  method?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Makes a request without a body. Follows no redirect, and leaves the body encoded. */
async function read(
  given: string | URL,
  { method = 'GET', headers, signal }: ReadInit = {},
): Promise<ReadableResponse> {
  const url = new URL(given);
  const { request, Agent } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const agent = agentFor(url.protocol, Agent);
  // The default headers of Node's own `fetch`: some servers refuse requests without `User-Agent`.
  const usual = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'node' };
  const sent = request(url, { method, headers: { ...usual, ...headers }, agent, ...(signal && { signal }) });
  sent.end();
  return readableResponse(await responseTo(sent));
}

let proxyFetch: Promise<Fetch> | undefined;
let proxyFetchUndecoded: Promise<Fetch> | undefined;

/** Resolves to a `fetch` that uses the proxies in the environment, which is read once. */
export function environmentFetch(): Promise<Fetch> {
  proxyFetch ??= throughProxies();
  return proxyFetch;
}

/** Like `environmentFetch`, but bodies stay encoded. */
export function environmentFetchUndecoded(): Promise<Fetch> {
  proxyFetchUndecoded ??= namesProxy(process.env) ? dispatcherOf(process.env).then(undecodedFetch) : undecodedFetch();
  return proxyFetchUndecoded;
}

async function throughProxies(): Promise<Fetch> {
  if (!namesProxy(process.env)) return fetch;
  const { fetch: ask } = await import('undici');
  const env = { ...process.env };
  const dispatcher = await dispatcherOf(env);
  const askUndecoded = await undecodedFetch(dispatcher);
  const proxied = async (url: string | URL, init: UndiciInit) => {
    const proxy = forwardProxyFor(new URL(url), env);
    // `fetch` hides the redirect of a stream.
    const isStream = init.body instanceof ReadableStream;
    const asking = isStream ? askUndecoded(url, init as RequestInit) : ask(url, { ...init, dispatcher });
    const response = await (asking as Promise<Response>).catch((thrown) => {
      if (!proxy || init.signal?.aborted) throw thrown;
      if (hidesStatus(thrown.cause)) throw proxyRefusal(proxy, PROXY_AUTHENTICATION_REQUIRED, '');
      throw proxySilence(proxy, networkReason(thrown), thrown);
    });
    const isRefused = isStream && response.status === PROXY_AUTHENTICATION_REQUIRED;
    if (isRefused && proxy) throw proxyRefusal(proxy, response.status, '');
    return response;
  };
  return proxied as unknown as Fetch;
}

/** Returns the proxy that forwards `url` without a tunnel: for http, since many proxies allow tunnels for https only. */
function forwardProxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const proxy = proxyFor(url, env);
  return url.protocol === 'http:' && proxy?.protocol === 'http:' ? proxy : undefined;
}

const isSocks = ({ protocol }: URL): boolean => protocol.startsWith('socks');

/** Dispatches each request as `env` says. Loads undici, which most programs do not need. */
async function dispatcherOf(env: NodeJS.ProcessEnv): Promise<Dispatcher> {
  const { Agent, buildConnector } = await import('undici');
  const direct = new Agent();
  const agents = new Map<string, Dispatcher>();
  const throughProxy = (proxy: URL): Dispatcher => {
    const agent = agents.get(proxy.href) ?? new Agent({ connect: tunnelConnector(proxy, buildConnector({})) });
    agents.set(proxy.href, agent);
    return agent;
  };
  return direct.compose((dispatch) => (options, handler) => {
    const url = new URL(options.origin!);
    const proxy = proxyFor(url, env);
    if (!proxy) return dispatch(options, handler);
    if (!forwardProxyFor(url, env)) return throughProxy(proxy).dispatch(options, handler);
    const headers = { host: url.host, ...(options.headers as Record<string, string>), ...proxyAuthorization(proxy) };
    return dispatch({ ...options, origin: proxy.origin, path: url.origin + options.path, headers }, handler);
  });
}

/** Connects through a tunnel of `proxy`, for https with TLS by `secure`. */
function tunnelConnector(proxy: URL, secure: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const port = options.port || (options.protocol === 'https:' ? '443' : '80');
    const connected = (httpSocket: import('node:net').Socket) => {
      if (options.protocol === 'https:') secure({ ...options, httpSocket }, callback);
      else callback(null, httpSocket);
    };
    const { hostname } = options;
    const opening = isSocks(proxy)
      ? openSocksTunnel(proxy, hostname, Number(port))
      : openTunnel(proxy, `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`);
    opening.then(connected, (failure: Error) => callback(failure, null));
  };
}

/**
 * Makes a `fetch` whose responses stay encoded: Node's own decodes them. For requests without a body or with a stream, through
 * `dispatcher` if given. It follows no redirect.
 */
export async function undecodedFetch(dispatcher?: Dispatcher): Promise<Fetch> {
  const { request } = await import('undici');
  const ask = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', headers, signal, body: sent } = init;
    const answer = await request(url, {
      method: method as Dispatcher.HttpMethod,
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(headers)) },
      ...(sent instanceof ReadableStream && { body: Readable.fromWeb(sent as NodeStream) }),
      ...(signal && { signal }),
      ...(dispatcher && { dispatcher }),
      // Decoded text would not survive a second decoding.
      responseHeaders: 'raw',
    });
    const { statusCode: status, statusText = '', body } = answer as typeof answer & { statusText?: string };
    const given = { status, statusText, headers: pairsOf(answer.headers as unknown as string[]) };
    const isEmpty = [204, 205, 304].includes(status);
    if (isEmpty) body.resume();
    return new Response(isEmpty ? null : (Readable.toWeb(body) as NodeStream as BodyInit), given);
  };
  return ask as Fetch;
}

/** Removes Content-Encoding, so that nothing decodes the body. */
function pairsOf(raw: (string | Buffer)[]): [string, string][] {
  const texts = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const pairs = Array.from({ length: texts.length / 2 }, (_, at): [string, string] => [
    texts[at * 2]!,
    texts[at * 2 + 1]!,
  ]);
  return pairs.filter(([name]) => name.toLowerCase() !== 'content-encoding');
}

/** The host name, or the address; of IPv6 without brackets. */
const nameOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** Makes a guard of requests, which allows nothing yet. They bypass proxies, which resolve names themselves. */
export async function makeGuard(): Promise<AddressGuard> {
  const { Agent, fetch } = await import('undici');
  const allowed = new Map<string, string[]>();
  const lookUp: LookupFunction = (name, { all }, callback) => {
    const addresses = (allowed.get(name) ?? []).map((address) => ({ address, family: isIP(address) }));
    const [first] = addresses;
    if (!first) callback(new Error(`${name} is not allowed`), []);
    else if (all) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
  const dispatcher = new Agent({ connect: { lookup: lookUp } });
  const ask = (url: string | URL, init: object) => fetch(url, { ...init, dispatcher });
  return {
    async resolve(url) {
      const name = nameOf(url);
      return isIP(name) ? [name] : (await lookup(name, { all: true })).map(({ address }) => address);
    },
    allow: (url, addresses) => void allowed.set(nameOf(url), addresses),
    fetch: ask as unknown as Fetch,
    fetchUndecoded: await undecodedFetch(dispatcher),
  };
}
