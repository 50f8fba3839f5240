// The page: the component, and what only a whole page may do.

import { prepare, removeLeftovers } from 'decant';
import { DecantConverter } from './converter/converter.js';

customElements.define('decant-converter', DecantConverter);

// A file that misses the drop zone would replace the page.
for (const type of ['dragover', 'drop'] as const) addEventListener(type, (event) => event.preventDefault());

// Loaded and compiled while the person looks for a file; what is wrong is told when there is one.
prepare().catch(() => {});

// What a closed tab left behind; if it cannot be removed now, it is the next time.
removeLeftovers().catch(() => {});
