// The page's service worker: it keeps the page for offline use, and streams downloads.

import { answerDownload, hear } from './downloads.js';
import { answerPage, keepNewest } from './pages.js';

declare const self: ServiceWorkerGlobalScope;

// From now on, the page that has registered it gets its files from here, too.
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('message', (event) => {
  switch (event.data) {
    case 'keep':
      // A failure is swallowed: the page works without, and it is tried again when the page is next opened.
      event.waitUntil(keepNewest().catch(() => {}));
      return;
    case 'take over':
      event.waitUntil(self.skipWaiting());
      return;
    default:
      hear(event);
  }
});
self.addEventListener('fetch', (event) => {
  const download = answerDownload(event.request);
  if (download) event.respondWith(download);
  else answerPage(event);
});
