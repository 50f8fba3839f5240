// Which `output` of a page can be used.

import { expect, test } from 'vitest';
import type { DecantConverterElement } from '../types.element.js';
import { outputProblem } from './page-output.js';

type Output = DecantConverterElement['output'];

const output = () => new WritableStream();

/** An element with the property `output`, the attribute `output`, and the properties that React has for it. */
const elementWith = (given: unknown, attribute: string | null, react: object = {}) => ({
  output: given as Output,
  getAttribute: (name: string) => (name === 'output' ? attribute : null),
  __reactFiber$a1: {},
  __reactProps$a1: react,
});

// (case, property, attribute, properties in React, whether the page has set it without effect)
test.each<[string, unknown, string | null, object, boolean]>([
  ['nothing is set', undefined, null, {}, false],
  ['a framework has removed it', null, null, { output: undefined }, false],
  ['a function', output, null, { output }, false],
  ['a function, beside an attribute', output, '', {}, false],
  ['an object as an attribute', undefined, '[object Object]', {}, true],
  ['an attribute without a value', undefined, '', {}, true],
  ['an empty text', '', null, {}, true],
  ['an object', { opfs: 'disk.raw' }, null, {}, true],
  ['React has it, and the element does not', undefined, null, { output }, true],
])('%s', (_, given, attribute, react, isProblem) => {
  const problem = outputProblem(elementWith(given, attribute, react));
  expect(problem?.code).toBe(isProblem ? 'output-unreadable' : undefined);
});

test('an element that no framework has rendered', () => {
  expect(outputProblem({ output: undefined, getAttribute: () => null })).toBeUndefined();
});
