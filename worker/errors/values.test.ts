import { expect, test } from 'vitest';
import { frozen } from './values.js';

test.each<[what: string, data: unknown]>([
  ['a number', 5],
  ['nothing', undefined],
  ['an empty object', {}],
  ['a list', [1, [2], { three: [{ four: 5 }] }]],
  ['objects', { a: { b: { c: [] } }, d: null, e: Object.freeze({ f: 1 }) }],
])('%s is frozen, with all that is in it', (_, data) => {
  const copy = structuredClone(data);
  expect(frozen(data)).toBe(data);
  expect(data).toEqual(copy);
  const isFrozen = (value: unknown): boolean =>
    Object.isFrozen(value) && Object.values(value ?? {}).every((part) => isFrozen(part));
  expect(isFrozen(data)).toBe(true);
});
