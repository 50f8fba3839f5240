// Exports of the package in both browsers and Node.

import { disposeOfAll } from './opening.js';

export {
  DecantError,
  type DecantErrorOptions,
  type ErrorKind,
  type Failure,
  type FailureName,
  type Fields,
} from '../errors/errors.js';
export { shownMessage, shownText } from '../errors/shown.js';
export type { AddressOptions, Fetch, HttpHeaders, HttpOptions, Waiting } from '../http/http-types.js';
export { RequestLimit } from '../http/request-limit.js';
export type * from '../public/types.js';
export { inputExtensions } from './input-extensions.js';

/**
 * Closes all images and ends all workers, which frees their memory. Operations under way fail. The package can be used again
 * afterwards.
 */
export const dispose = (): Promise<void> => disposeOfAll();
