// `decant/testing`: contract tests for custom sources and targets, in Node and in browsers.

export type { AddressOptions, Fetch, HttpHeaders, HttpOptions, Waiting } from '../http/http-types.js';
export type { RequestLimit } from '../http/request-limit.js';
export type {
  Bytes,
  Network,
  ReadableOutput,
  Source,
  Target,
  TargetEnd,
  TargetPlan,
  TargetResumePoint,
} from '../public/types.js';
export { checkSource } from './check-source.js';
export { checkTarget } from './check-target.js';
