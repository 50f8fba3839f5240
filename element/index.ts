// `decant/element`. Importing it defines `<decant-converter>`, unless the page has an element of that name.

import { Converter } from './converter.js';
import type { DecantConverterElement } from './types.element.js';

const NAME = 'decant-converter';

/** The class of `<decant-converter>`. */
export const DecantConverter: new () => DecantConverterElement = Converter;

// Without a document, on a server for example, nothing is defined.
if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, Converter);
