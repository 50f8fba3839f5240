// The page: sets up the element, the title, the service worker and the private storage.

import { configure, prepare, removeLeftovers } from 'decant';
import 'decant/element';
import { threads } from 'decant/threads';
import { streamObstacle, unlessAborted } from './download/streaming-worker.js';
import { fillIcon } from './icon.js';
import { language } from './language.js';
import { registerServiceWorker } from './service-worker/register.js';

configure({ threads });

/** Loads the code for streamed downloads. The service worker, without which nothing is streamed, has kept it. */
const loadStreamed = () =>
  import('./download/streamed.js').catch(() => {
    throw new Error(reasons.notLoaded);
  });

const converter = document.querySelector('decant-converter')!;
converter.streamedDownloads = {
  obstacle: streamObstacle,
  open: async (name, size, signal) => {
    const { openStreamedDownload } = await unlessAborted(signal, loadStreamed());
    return openStreamedDownload(name, size, signal);
  },
};

const { page, reasons } = language();
if (page) {
  document.documentElement.lang = page.lang;
  converter.lang = page.lang;
  document.title = page.title;
  document.querySelector('footer a')!.textContent = page.licences;
}

// The title of the tab shows the current step.
const { title } = document;
converter.addEventListener('decant-title', ({ detail }) => {
  document.title = detail === null ? title : `${detail} – Decant`;
});

converter.addEventListener('decant-progress', ({ detail }) => {
  if (detail.phase === 'converting') fillIcon(detail.fraction ?? 0);
});
for (const end of ['decant-done', 'decant-error'] as const) converter.addEventListener(end, () => fillIcon());

// Loads the package while the person looks for a file. A failure is ignored, because opening an image fails for the same
// reason and reports it. The service worker follows; without it the page works, but not offline.
prepare()
  .catch(() => {})
  .then(registerServiceWorker)
  .catch(() => {});

// Removes leftovers of closed tabs. A leftover that cannot be removed now is removed the next time.
removeLeftovers().catch(() => {});
