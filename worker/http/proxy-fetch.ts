// Node: `fetch` through the proxies in the environment, which Node's own ignores.

import type { buildConnector, Dispatcher, Socks5ProxyAgent, RequestInit as UndiciInit } from 'undici';
import { hidesStatus, networkReason, PROXY_AUTHENTICATION_REQUIRED } from './http-failures.js';
import type { Fetch } from './http-types.js';
import { namesProxy, proxyFor } from './proxy-environment.js';
import { openTunnel, proxyAuthorization, proxyRefusal, proxySilence } from './proxy-tunnel.js';
import { undecodedFetch } from './undecoded-fetch.js';

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
    const proxy = silentProxyFor(new URL(url), env);
    // `fetch` hides the redirect of a stream.
    const isStream = init.body instanceof ReadableStream;
    const asking = isStream ? askUndecoded(url, init as RequestInit) : ask(url, { ...init, dispatcher });
    const response = await (asking as Promise<Response>).catch((thrown) => {
      if (!proxy || init.signal?.aborted) throw thrown;
      if (hidesStatus(thrown.cause) && !isSocks(proxy)) throw proxyRefusal(proxy, PROXY_AUTHENTICATION_REQUIRED, '');
      throw proxySilence(proxy, networkReason(thrown), thrown);
    });
    const isRefused = isStream && response.status === PROXY_AUTHENTICATION_REQUIRED;
    if (isRefused && proxy && !isSocks(proxy)) throw proxyRefusal(proxy, response.status, '');
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

/** Returns the proxy for `url` unless it has a tunnel, whose failures name it. */
function silentProxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const proxy = proxyFor(url, env);
  return proxy && isSocks(proxy) ? proxy : forwardProxyFor(url, env);
}

/** Dispatches each request as `env` says. Loads undici, which most programs do not need. */
async function dispatcherOf(env: NodeJS.ProcessEnv): Promise<Dispatcher> {
  const { Agent, Socks5ProxyAgent, buildConnector } = await import('undici');
  const direct = new Agent();
  const agents = new Map<string, Dispatcher>();
  const throughProxy = (proxy: URL): Dispatcher => {
    const agent =
      agents.get(proxy.href) ??
      (isSocks(proxy)
        ? socksAgent(Socks5ProxyAgent, proxy)
        : new Agent({ connect: tunnelConnector(proxy, buildConnector({})) }));
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

/** Makes an agent for the SOCKS proxy `proxy`, without undici's warning that this is experimental, which helps no person. */
function socksAgent(Agent: typeof Socks5ProxyAgent, proxy: URL): Dispatcher {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return new Agent(proxy.href.replace(/^socks5h:/, 'socks5:'));
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Connects through a tunnel of `proxy`, for https with TLS by `secure`. */
function tunnelConnector(proxy: URL, secure: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const port = options.port || (options.protocol === 'https:' ? '443' : '80');
    const connected = (httpSocket: import('node:net').Socket) => {
      if (options.protocol === 'https:') secure({ ...options, httpSocket }, callback);
      else callback(null, httpSocket);
    };
    const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
    openTunnel(proxy, `${host}:${port}`).then(connected, (failure: Error) => callback(failure, null));
  };
}
