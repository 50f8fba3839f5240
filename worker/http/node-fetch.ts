// Node: a `fetch` for reads by `node:http`. Node's own `fetch` copies each chunk, and takes twice the time.

import type { Agent } from 'node:http';
import type { Fetch } from './http-types.js';
import { hasNodeFetch, responseOf, responseTo } from './node-response.js';
import { namesProxy } from './proxy-environment.js';

/** How long an unused connection is kept, in milliseconds, as by Node's own `fetch`. */
const KEPT_TIME = 4000;

/** Resolves to the `fetch` for reads: through the proxies in the environment, if there are any. */
export async function readingFetch(): Promise<Fetch> {
  if (!namesProxy(process.env))
    return ((url: string | URL, init) => (hasNodeFetch() ? read(url, init) : fetch(url, init))) as Fetch;
  return (await import('./proxy-fetch.js')).environmentFetch();
}

const agents = new Map<string, Agent>();

/** Makes a request without a body. Follows no redirect, and leaves the body encoded. */
async function read(given: string | URL, { method = 'GET', headers, signal }: RequestInit = {}): Promise<Response> {
  const url = new URL(given);
  const { request, Agent } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const agent = agents.get(url.protocol) ?? new Agent({ keepAlive: true, timeout: KEPT_TIME });
  agents.set(url.protocol, agent);
  // As Node's own `fetch` sends them: some servers refuse requests without `User-Agent`.
  const usual = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'node' };
  const all = { ...usual, ...Object.fromEntries(new Headers(headers)) };
  const asked = request(url, { method, headers: all, agent, ...(signal && { signal }) });
  asked.end();
  return responseOf(await responseTo(asked));
}
