// `decant/testing`: contract tests for custom sources and targets, in Node and in browsers.

export type { Waiting } from '../http/http-types.js';
export type { Bytes, Network, Source, Target, TargetEnd, TargetPlan, TargetResumePoint } from '../public/types.js';
export { checkSource } from './check-source.js';
export { checkTarget } from './check-target.js';
