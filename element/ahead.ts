// What is done before there is an image: while the person drags a file over the element, or looks for one.

import { prepare } from 'decant';
import { ratesHere } from './choices.js';
import type { Host } from './host.js';

/** Starts the workers, and estimates the rates. The image that is opened meets any failure again. */
export function workAhead({ output }: Host): void {
  prepare().catch(() => {});
  // The page saves the disk itself, and needs no rates.
  if (!output && isSecureContext) ratesHere().catch(() => {});
}
