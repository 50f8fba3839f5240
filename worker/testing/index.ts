// Contract tests that authors run on sources and targets of their own, in Node and in browsers.

export type { Waiting } from '../http/types.js';
export type { Bytes, Network, Source, Target, TargetBegun, TargetEnd, TargetPlan } from '../types.js';
export { checkSource } from './source.js';
export { checkTarget } from './target.js';
