// `<decant-converter>`, as the package has it. It is defined when this is imported, unless the page has one of that name.

import { Converter } from './converter.js';
import type { DecantConverterElement } from './types.js';

const NAME = 'decant-converter';

/** The class of `<decant-converter>`. */
export const DecantConverter: new () => DecantConverterElement = Converter;

// Where there is no document, on a server for instance, there is nothing to define.
if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, Converter);
