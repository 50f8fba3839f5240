// The page around the element, as the rest of the element sees it.

import type { DecantConverterElement, DecantConverterEvents } from './types.element.js';
import type { AllTexts } from './types.texts.js';

export interface Host extends Pick<DecantConverterElement, 'output' | 'places' | 'streamedDownloads'> {
  /** Dispatches an event of the element. */
  emit<K extends keyof DecantConverterEvents>(type: K, detail: DecantConverterEvents[K]['detail']): void;
}

/** The page, and the texts in its language. */
export interface Page {
  readonly host: Host;
  readonly texts: AllTexts;
}
