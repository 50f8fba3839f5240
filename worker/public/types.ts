// The public types that browsers and Node share.

export type * from '../contents/disk-contents.js';
export type * from '../errors/names.js';
export type * from './types.contracts.js';
export type * from './types.conversion.js';
export type * from './types.convert-options.js';
export type * from './types.format-options.js';
export type * from './types.image.js';
export type * from './types.info.js';
export type * from './types.places.js';

/** The `threads` engine: `threads` of `decant/threads`, for `configure`. */
export interface Threads {
  /** Makes a worker that runs `worker.threads.js`. */
  worker(): unknown;
  /** The URL of `threads.wasm`. */
  wasm(): URL;
}
