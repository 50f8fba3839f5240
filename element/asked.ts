// What most conversions do not need: the steps that ask for something, and the queue.

export { doubtsAbout } from './doubts.js';
export { askingView } from './views-asking.js';
export { disksView } from './views-disks.js';
export { needsView } from './views-needs.js';
export { packedView, unpackingView } from './views-packed.js';
export { queueView } from './views-queue.js';
