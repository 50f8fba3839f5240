// The service worker of the page: keeps the page for offline use and streams downloads.

import { answerDownload, receive } from './downloads.js';
import { answerPage, keepNewest } from './pages.js';

declare const self: ServiceWorkerGlobalScope;

// From now on, the page that has registered this worker also gets its files from here.
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('message', (event) => {
  switch (event.data) {
    case 'keep':
      // A failure is ignored: the page works without the copy, and the next visit tries again.
      event.waitUntil(keepNewest().catch(() => {}));
      return;
    case 'take over':
      event.waitUntil(self.skipWaiting());
      return;
    default:
      receive(event);
  }
});
self.addEventListener('fetch', (event) => {
  const download = answerDownload(event.request);
  if (download) event.respondWith(download);
  else answerPage(event);
});
