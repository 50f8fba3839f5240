// Loaded on demand: the steps that ask for something, the queue, details, what can be changed, results and remains.

export { Batch } from './batch.js';
export { digestResult } from './digests.js';
export { doubtsAbout } from './doubts.js';
export { frameObstacles } from './frame-obstacles.js';
export { recall } from './interrupted.js';
export { leftBehind } from './left-behind.js';
export { nextSteps } from './next-steps.js';
export { probe } from './rate-probe.js';
export { askedStyles } from './styles-asked.js';
export { allTexts } from './texts/all-texts.js';
export { rememberUnfinished } from './unfinished.js';
export { askingView } from './views-asking.js';
export { changeFields } from './views-change.js';
export { detailsView } from './views-details.js';
export { disksView } from './views-disks.js';
export { leftView } from './views-left.js';
export { linkForm } from './views-link.js';
export { needsView } from './views-needs.js';
export { largeView, packedView, unpackingView } from './views-packed.js';
export { queueView } from './views-queue.js';
export { resultView } from './views-result.js';
