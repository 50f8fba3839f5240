// What the rest of the element sees of the page around it.

import type { DecantConverterElement, DecantConverterEvents } from './types.js';

export interface Host extends Pick<DecantConverterElement, 'output' | 'streamedDownloads'> {
  /** Tells the page what happens. */
  tell<K extends keyof DecantConverterEvents>(type: K, detail: DecantConverterEvents[K]['detail']): void;
}
