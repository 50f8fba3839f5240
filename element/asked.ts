// Loaded on demand: the steps that ask for something, the queue, details, and the commands after a conversion.

export { Batch } from './batch.js';
export { digestResult } from './digests.js';
export { doubtsAbout } from './doubts.js';
export { askingView } from './views-asking.js';
export { detailsView, lostView, snapshotPicker } from './views-details.js';
export { digestView } from './views-digest.js';
export { disksView } from './views-disks.js';
export { linkForm } from './views-link.js';
export { needsView } from './views-needs.js';
export { nextView } from './views-next.js';
export { packedView, unpackingView } from './views-packed.js';
export { queueView } from './views-queue.js';
