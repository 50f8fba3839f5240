// `decant/element`. Importing it defines `<decant-converter>`, unless the page has an element of that name.

import { Converter } from './converter.js';
import { refusedElement } from './refused.js';
import type { DecantConverterElement } from './types.element.js';
import { litRefused } from './ways/trusted-types.js';

const NAME = 'decant-converter';

const refused = litRefused();
const Defined = refused ? refusedElement(refused) : Converter;

/** The class of `<decant-converter>`. */
export const DecantConverter: new () => DecantConverterElement = Defined as typeof Converter;

// Without a document, on a server for example, nothing is defined.
if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, Defined);
