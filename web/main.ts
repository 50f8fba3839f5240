// The page: the component, and what only a page as a whole may do.

import { prepare, removeLeftovers } from 'decant';
import { DecantConverter } from './converter/converter.js';
import { registerServiceWorker } from './service-worker/register.js';

customElements.define('decant-converter', DecantConverter);

// The title of the tab shows what goes on.
const { title } = document;
document.querySelector('decant-converter')?.addEventListener('decant-title', (event) => {
  const { detail } = event as CustomEvent<string | undefined>;
  document.title = detail === undefined ? title : `${detail} – Decant`;
});

// Otherwise the browser would open a file that is dropped beside the component, instead of the page.
for (const type of ['dragover', 'drop'] as const) addEventListener(type, (event) => event.preventDefault());

// Loads the package while the person looks for a file. A failure is swallowed: opening an image fails for the same
// reason and says so. The service worker comes after that; without one the page works, but not offline.
prepare()
  .catch(() => {})
  .then(registerServiceWorker)
  .catch(() => {});

// Removes what a closed tab has left behind. What cannot be removed now is removed the next time.
removeLeftovers().catch(() => {});
