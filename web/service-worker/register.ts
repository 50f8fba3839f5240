// Registers, replaces and removes the service worker of the page.

import { cachePrefix, DOWNLOADING } from './page-messages.js';

const SCRIPT = './service-worker.js';

/** Makes the waiting service worker take over, unless a tab streams a download through the old one. */
async function replace(waiting: ServiceWorker): Promise<void> {
  const { held = [] } = await navigator.locks.query();
  if (!held.some((lock) => lock.name === DOWNLOADING)) waiting.postMessage('take over');
}

/** The statuses by which a server says that a file is gone. */
const GONE = [404, 410];

/**
 * Whether the server says that the script of the service worker is gone. Nothing else counts: not a lost network, a failing
 * server, or another page in its place, such as the log-in page of a hotel's network.
 */
async function isGone(): Promise<boolean> {
  try {
    const { status } = await fetch(SCRIPT, { cache: 'no-store' });
    return GONE.includes(status);
  } catch {
    return false;
  }
}

/** Removes the service worker and the kept page. Browsers keep a service worker even if its script is gone. */
async function remove(registration: ServiceWorkerRegistration): Promise<void> {
  await registration.unregister();
  const names = (await caches.keys()).filter((name) => name.startsWith(cachePrefix(registration.scope)));
  await Promise.all(names.map((name) => caches.delete(name)));
}

/**
 * Registers the service worker, which keeps the page for offline use and streams downloads. If its script is gone from the
 * server, removes the service worker and the kept page instead. Rejects if this browser or this window has no service
 * workers; the page works without them.
 */
export async function registerServiceWorker(): Promise<void> {
  const known = await navigator.serviceWorker.getRegistration();
  // A service worker of a folder above belongs to another page.
  if (known?.scope === new URL('.', document.baseURI).href && (await isGone())) return remove(known);
  const registration = await navigator.serviceWorker.register(SCRIPT);
  const { active } = await navigator.serviceWorker.ready;
  active!.postMessage('keep');
  if (registration.waiting) await replace(registration.waiting);
}
