// The page: sets up the element, the title, the icon, the service worker and the private storage.

import { configure, prepare, removeLeftovers } from 'decant';
import 'decant/element';
import { threads } from 'decant/threads';
import { streamObstacle, unlessAborted } from './download/streaming-worker.js';
import { language } from './languages.js';
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

/** The icon of the tab: its bottle fills while a disk is converted. */
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!;
const { href } = icon;

/** Fills the bottle to `share`, 0 to 1. Without a share, shows the icon of the first screen. */
function fillIcon(share?: number): void {
  const level = Math.round((share ?? 0) * 20) / 20;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><linearGradient id="f" y1="1" x2="0" y2="0"><stop offset="${level}" stop-color="#7fe0d0"/><stop offset="${level}" stop-color="#0b6b63"/></linearGradient><rect width="32" height="32" rx="8" fill="#0b6b63"/><path d="M11 6h10v5l3 5v8a3 3 0 0 1-3 3H11a3 3 0 0 1-3-3v-8l3-5z" fill="url(#f)" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>`;
  const filled = share === undefined ? href : `data:image/svg+xml,${encodeURIComponent(svg)}`;
  if (icon.href !== filled) icon.href = filled;
}

converter.addEventListener('decant-progress', ({ detail }) => {
  fillIcon(detail.fraction ?? 0);
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
