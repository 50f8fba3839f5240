// Node: requests go through the proxies that the environment names, which its own `fetch` does not know.

import type { RequestInit } from 'undici';
import type { Fetch } from './types.js';

const NAMES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];

let found: Promise<Fetch> | undefined;

/** `fetch`, through a proxy where the environment names one; it is looked up once. */
export function environmentFetch(): Promise<Fetch> {
  found ??= throughProxies();
  return found;
}

async function throughProxies(): Promise<Fetch> {
  if (!NAMES.some((name) => process.env[name])) return fetch;
  // Loaded by those who need it.
  const { EnvHttpProxyAgent, fetch: ask } = await import('undici');
  // As others do: many proxies make tunnels for https only.
  const dispatcher = new EnvHttpProxyAgent({ proxyTunnel: false });
  const proxied = (url: string | URL, init: RequestInit) => ask(url, { ...init, dispatcher });
  return proxied as unknown as Fetch;
}
