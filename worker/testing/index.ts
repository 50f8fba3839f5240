// Contract tests that authors run on sources and targets of their own, in Node and in browsers.

export type { Waiting } from '../http/types.js';
export type { Bytes, Network, Source, Target, TargetEnd, TargetPlan, TargetResumePoint } from '../public/types.js';
export { checkSource } from './check-source.js';
export { checkTarget } from './check-target.js';
