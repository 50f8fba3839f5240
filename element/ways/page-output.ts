// Whether the page's `output` can be used. If the page has set it without effect, nothing may be saved elsewhere instead.

import { DecantError } from 'decant';
import type { DecantConverterElement } from '../types.element.js';

/** The element, or a part of it that tests need. */
type Given = Pick<DecantConverterElement, 'output' | 'getAttribute'>;

/** The start of the name under which React 17 and later keep the properties of an element that they render. */
const REACT = '__reactProps$';

/**
 * The `output` that React has for `element`. It is in no property of the element if React has hydrated a server's HTML: React
 * then drops all properties and events of custom elements (issue 35446 of React).
 */
function outputInReact(element: object): unknown {
  const [, props] = Object.entries(element).find(([name]) => name.startsWith(REACT)) ?? [];
  return props?.output;
}

/** Whether `output` is what the page must set. */
export const isUsable = (output: unknown): boolean => typeof output === 'function';

/** The error if the page has set an `output` that is not a function, or that has not arrived. */
export function outputProblem(element: Given): DecantError | undefined {
  if (isUsable(element.output)) return undefined;
  const given: unknown = element.output ?? element.getAttribute('output') ?? outputInReact(element);
  if (given === undefined || given === null) return undefined;
  const message =
    "The page has given <decant-converter> an output that did not arrive as a function: set the property 'output' by a script, in React by a ref";
  return new DecantError('usage', message, { code: 'output-unreadable' });
}

/** The error after the page has set or removed `output` while an image was open. */
export const outputChanged = (): DecantError =>
  new DecantError(
    'usage',
    "The page has set or removed 'output' of <decant-converter> while an image was open: set it before the first image",
    { code: 'output-changed' },
  );
