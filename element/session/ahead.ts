// Gets ready for an image, while the person drags a file over the element or looks for one.

import { prepare } from 'decant';
import type { Host } from '../host.js';
import { ratesOfBrowser } from '../ways/environment.js';

/** Starts the workers, and estimates the rates unless the page saves the disk itself. */
export function prepareForImage({ output }: Host): void {
  // Opening an image fails for the same reason, and reports it.
  prepare().catch(() => {});
  // Without rates, the element shows no times.
  if (!output && isSecureContext) ratesOfBrowser().catch(() => {});
}
