// Keeps the page for offline use. Each build is kept completely or not at all, in a separate cache. A build with other headers
// counts as another build. All files except the page itself have a digest in their names, so an open page always gets the files
// of its build, even after a deployment.

import { cachePrefix } from './page-messages.js';

declare const self: ServiceWorkerGlobalScope;

/** The files of a build, as `build.ts` lists them: paths relative to the scope, and digests of the content. */
interface Build {
  id: string;
  files: Record<string, string>;
}

/** A kept build, with the name of its cache. */
interface KeptBuild extends Build {
  cache: string;
}

const { scope } = self.registration;
const LIST = new URL('build.json', scope).href;
/** The time for which opening the page waits for a newer build, in milliseconds. */
const NEWEST_TIMEOUT = 5000;
/** The time-out for loading a file, in milliseconds. The next visit tries again. */
const FILE_TIMEOUT = 60_000;
/** The headers that set the page's permissions. A page with other values replaces the kept one. */
const HEADERS = [
  'Content-Security-Policy',
  'Cross-Origin-Opener-Policy',
  'Cross-Origin-Embedder-Policy',
  'Document-Isolation-Policy',
];

const prefix = cachePrefix(scope);
/** The cache with the list of the newest kept build. */
const CURRENT = `${prefix}current`;

async function findCurrent(): Promise<KeptBuild | undefined> {
  const list = await caches.match(LIST, { cacheName: CURRENT });
  const kept: KeptBuild | undefined = await list?.json();
  // An earlier version of this script did not store the name of the cache.
  return kept?.cache ? kept : undefined;
}

async function fetchWhole(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { cache: 'no-cache', signal: AbortSignal.timeout(FILE_TIMEOUT), ...init });
  if (!response.ok || response.redirected) throw new Error(`${url} is not there (${response.status})`);
  return response;
}

/** Returns the name of the cache for a build whose page has the headers of `page`. */
async function cacheOf({ id }: Build, page: Response): Promise<string> {
  const headers = JSON.stringify(HEADERS.map((name) => page.headers.get(name)));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(headers)));
  const hex = Array.from(digest.slice(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${prefix}${id} ${hex}`;
}

/**
 * Keeps the server's build, unless it is kept already. If a file is missing or belongs to another build, fails and changes
 * nothing.
 */
async function storeNewest(): Promise<void> {
  const build: Build = await (await fetchWhole(LIST)).json();
  const current = await findCurrent();
  // `reload` prevents the answer 304, with which some servers do not send all headers.
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
  const kept: KeptBuild = { ...build, cache: name };
  await (await caches.open(CURRENT)).put(LIST, Response.json(kept));
}

let storing: Promise<void> | undefined;

/** Keeps the server's build. Concurrent calls share one attempt. */
export function keepNewest(): Promise<void> {
  storing ??= storeNewest().finally(() => {
    storing = undefined;
  });
  return storing;
}

/** The cache of the page that was served last, which the browser may not list yet. */
let lastServed: string | undefined;

/** Removes older builds, if no page is open that may use them. */
async function removeOld(): Promise<void> {
  const windows = await self.clients.matchAll({ includeUncontrolled: true, type: 'window' });
  const current = await findCurrent();
  if (windows.some(({ url }) => url.startsWith(scope)) || !current) return;
  const kept = [CURRENT, current.cache, lastServed];
  const old = (await caches.keys()).filter((name) => name.startsWith(prefix) && !kept.includes(name));
  await Promise.all(old.map((name) => caches.delete(name)));
}

/** Returns the kept page. */
async function keptPage(): Promise<Response | undefined> {
  const current = await findCurrent();
  if (!current) return undefined;
  lastServed = current.cache;
  return caches.match(scope, { cacheName: current.cache });
}

/** Finds a file in all kept builds, first in the newest one, which has the newest headers. */
async function keptFile(url: string): Promise<Response | undefined> {
  const current = await findCurrent();
  const names = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== CURRENT);
  for (const cacheName of current ? [current.cache, ...names] : names) {
    const kept = await caches.match(url, { cacheName });
    if (kept) return kept;
  }
  return undefined;
}

// Caches fail on a full disk or in a damaged profile. Then the server answers, so that the page opens anyway.

/** Answers with the page of the newest kept build. */
async function openPage(request: Request, newest: Promise<void>): Promise<Response> {
  await Promise.race([newest, new Promise((resolve) => setTimeout(resolve, NEWEST_TIMEOUT))]);
  return (await keptPage().catch(() => undefined)) ?? fetch(request);
}

/** Answers with a file of a kept build. */
async function openFile(request: Request): Promise<Response> {
  return (await keptFile(request.url).catch(() => undefined)) ?? fetch(request);
}

const isPage = (url: URL) => [scope, `${scope}index.html`].includes(url.origin + url.pathname);

/** Whether `url` may be another file of a build. */
const isFile = (url: URL) => url.href.startsWith(`${scope}assets/`);

/** Answers requests for the page and its files. Leaves all others to the browser. */
export function answerPage(event: FetchEvent): void {
  const url = new URL(event.request.url);
  if (event.request.method !== 'GET') return;
  if (isFile(url)) event.respondWith(openFile(event.request));
  if (event.request.mode !== 'navigate' || !isPage(url)) return;
  // Failures are ignored: offline, or during a deployment, the kept build is served.
  const newest = removeOld()
    .catch(() => {})
    .then(keepNewest)
    .catch(() => {});
  event.waitUntil(newest);
  event.respondWith(openPage(event.request, newest));
}
