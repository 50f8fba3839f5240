// The page: the element, and what only a page as a whole may do.

import { configure, prepare, removeLeftovers } from 'decant';
import 'decant/element';
import { threads } from 'decant/threads';
import { openStreamedDownload, streamObstacle } from './download/streamed.js';
import { isGerman } from './language.js';
import { registerServiceWorker } from './service-worker/register.js';

configure({ threads });

const converter = document.querySelector('decant-converter')!;
converter.streamedDownloads = { obstacle: streamObstacle, open: openStreamedDownload };

if (isGerman()) {
  document.documentElement.lang = 'de';
  converter.lang = 'de';
  document.title = 'Decant: Festplattenabbilder im Browser konvertieren';
  document.querySelector('footer a')!.textContent = 'Lizenzen';
}

// The title of the tab shows what goes on.
const { title } = document;
converter.addEventListener('decant-title', ({ detail }) => {
  document.title = detail === undefined ? title : `${detail} – Decant`;
});

// Loads the package while the person looks for a file. A failure is swallowed: opening an image fails for the same
// reason and says so. The service worker comes after that; without one the page works, but not offline.
prepare()
  .catch(() => {})
  .then(registerServiceWorker)
  .catch(() => {});

// Removes what a closed tab has left behind. What cannot be removed now is removed the next time.
removeLeftovers().catch(() => {});
