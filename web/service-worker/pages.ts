// The page, kept for offline use. Each build is kept as a whole or not at all, in a cache of its own. The same build
// with other headers counts as another build. All files but the page itself have a digest in their names, so a page
// gets the files of its own build, whatever was deployed since.

import { bytesToHex } from '@noble/hashes/utils.js';
import { keptPrefix } from './kept.js';

declare const self: ServiceWorkerGlobalScope;

/** The files of a build, as `build.ts` lists them: paths below the scope, and digests of the content. */
interface Build {
  id: string;
  files: Record<string, string>;
}

/** A build that is kept, and the name of its cache. */
interface Kept extends Build {
  cache: string;
}

const { scope } = self.registration;
const LIST = new URL('build.json', scope).href;
/** How long a page that is opened waits for a newer build, in milliseconds. */
const PATIENCE = 5000;
/** How long a file may take to load, in milliseconds. After that it is tried again when the page is next opened. */
const LIMIT = 60_000;
/** The headers that decide what a page may do. A page with other values replaces the one that is kept. */
const HEADERS = [
  'Content-Security-Policy',
  'Cross-Origin-Opener-Policy',
  'Cross-Origin-Embedder-Policy',
  'Document-Isolation-Policy',
];

const prefix = keptPrefix(scope);
/** The cache that holds the list of the newest build that is kept. */
const CURRENT = `${prefix}current`;

async function findCurrent(): Promise<Kept | undefined> {
  const list = await caches.match(LIST, { cacheName: CURRENT });
  const kept: Kept | undefined = await list?.json();
  // An earlier version of this script did not store the name of the cache.
  return kept?.cache ? kept : undefined;
}

async function fetchWhole(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { cache: 'no-cache', signal: AbortSignal.timeout(LIMIT), ...init });
  if (!response.ok || response.redirected) throw new Error(`${url} is not there (${response.status})`);
  return response;
}

/** The name of the cache for a build whose page has the headers of `page`. */
async function cacheOf({ id }: Build, page: Response): Promise<string> {
  const headers = JSON.stringify(HEADERS.map((name) => page.headers.get(name)));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(headers)));
  return `${prefix}${id} ${bytesToHex(digest.slice(0, 8))}`;
}

/**
 * Keeps the server's build, unless it is kept. Fails, and changes nothing, if a file is missing or of another build.
 */
async function takeNewest(): Promise<void> {
  const build: Build = await (await fetchWhole(LIST)).json();
  const current = await findCurrent();
  // With `reload` the server cannot answer that nothing has changed. Not every server sends all headers with that
  // answer.
  const page = await fetchWhole(scope, { cache: 'reload', integrity: build.files['./']! });
  const name = await cacheOf(build, page);
  if (name === current?.cache) return;
  const cache = await caches.open(name);
  const mode = build.id === current?.id ? 'reload' : 'no-cache';
  await cache.put(scope, page);
  await Promise.all(
    Object.entries(build.files).map(async ([path, integrity]) => {
      const url = new URL(path, scope).href;
      if (!(await cache.match(url))) await cache.put(url, await fetchWhole(url, { integrity, cache: mode }));
    }),
  );
  const kept: Kept = { ...build, cache: name };
  await (await caches.open(CURRENT)).put(LIST, Response.json(kept));
}

let taking: Promise<void> | undefined;

/** Keeps the server's build. Calls at the same time share one attempt. */
export function keepNewest(): Promise<void> {
  taking ??= takeNewest().finally(() => {
    taking = undefined;
  });
  return taking;
}

/** The cache of the page that was served last. The browser may not list that page yet. */
let handedOut: string | undefined;

/** Removes the builds that no page can be using: those of before, if no page is open. */
async function removeOld(): Promise<void> {
  const windows = await self.clients.matchAll({ includeUncontrolled: true, type: 'window' });
  const current = await findCurrent();
  if (windows.some(({ url }) => url.startsWith(scope)) || !current) return;
  const kept = [CURRENT, current.cache, handedOut];
  const old = (await caches.keys()).filter((name) => name.startsWith(prefix) && !kept.includes(name));
  await Promise.all(old.map((name) => caches.delete(name)));
}

/** The page that is kept. */
async function keptPage(): Promise<Response | undefined> {
  const current = await findCurrent();
  if (!current) return undefined;
  handedOut = current.cache;
  return caches.match(scope, { cacheName: current.cache });
}

/** A file of any build that is kept. The newest build comes first, since its headers are the newest. */
async function keptFile(url: string): Promise<Response | undefined> {
  const current = await findCurrent();
  const names = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== CURRENT);
  for (const cacheName of current ? [current.cache, ...names] : names) {
    const kept = await caches.match(url, { cacheName });
    if (kept) return kept;
  }
  return undefined;
}

// Caches fail on a full disk or in a damaged profile. The page must open all the same: then the server answers.

/** The page of the newest build that is kept. */
async function openPage(request: Request, newest: Promise<void>): Promise<Response> {
  await Promise.race([newest, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  return (await keptPage().catch(() => undefined)) ?? fetch(request);
}

/** A file that a page asks for. */
async function openFile(request: Request): Promise<Response> {
  return (await keptFile(request.url).catch(() => undefined)) ?? fetch(request);
}

const isPage = (url: URL) => [scope, `${scope}index.html`].includes(url.origin + url.pathname);

/** Whether `url` may be one of the other files of a build. */
const isFile = (url: URL) => url.href.startsWith(`${scope}assets/`);

/** Answers a request for the page or one of its files. Leaves all others to the browser. */
export function answerPage(event: FetchEvent): void {
  const url = new URL(event.request.url);
  if (event.request.method !== 'GET') return;
  if (isFile(url)) event.respondWith(openFile(event.request));
  if (event.request.mode !== 'navigate' || !isPage(url)) return;
  // Failures are swallowed: offline, or while a deployment is incomplete, the build that is kept is served.
  const newest = removeOld()
    .catch(() => {})
    .then(keepNewest)
    .catch(() => {});
  event.waitUntil(newest);
  event.respondWith(openPage(event.request, newest));
}
