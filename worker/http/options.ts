// The names of what a caller may say of requests.

import { namesOf } from '../option-names.js';
import type { HttpOptions } from './types.js';

export const HTTP_OPTIONS = namesOf<HttpOptions>({
  allowUrl: true,
  credentials: true,
  fetch: true,
  headers: true,
  onWaiting: true,
  patience: true,
  signal: true,
  timeout: true,
});
