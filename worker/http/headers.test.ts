import { expect, test } from 'vitest';
import { Unanswered } from './failures.js';
import { headersOf } from './headers.js';

const pairs = { 'X-A': '1', 'X-B': '2' };

test.for([
  ['nothing', undefined, {}],
  ['an object', pairs, pairs],
  ['pairs', Object.entries(pairs), pairs],
  ['Headers', new Headers(pairs), pairs],
  [
    'a name twice',
    [
      ['X-A', '1'],
      ['x-a', '2'],
    ] as const,
    { 'X-A': '1, 2' },
  ],
  ['a function', () => pairs, pairs],
  ['a function that takes time', async () => Object.entries(pairs), pairs],
] as const)('headers as %s', async ([, given, expected]) => {
  expect([...(await headersOf(given))]).toEqual([...new Headers(expected)]);
});

test.for([
  ['a value', { 'X-Token': 'top\nsecret' }, 'X-Token'],
  ['a name', { 'X Token': 'secret' }, 'X Token'],
  ['one of a function', () => [['X-Token', 'secret\0']] as const, 'X-Token'],
] as const)('%s that no header may have is told, not shown', async ([, given, name]) => {
  const message = `The header '${name}' has a character that no header may have, as a line break`;
  const told: unknown = await headersOf(given).catch((thrown: unknown) => thrown);
  expect(told).toMatchObject({ kind: 'usage', message });
  expect(told).not.toHaveProperty('cause');
});

test('headers that cannot be fetched are tried again, those that a program refuses are not', async () => {
  const failing = (thrown: Error) => headersOf(() => Promise.reject(thrown)).catch((error: unknown) => error);
  const cause = new TypeError('fetch failed');
  const unanswered = await failing(cause);
  expect(unanswered).toBeInstanceOf(Unanswered);
  expect(unanswered).toMatchObject({ message: 'fetch failed', cause });
  const refused = new Error('sign in again');
  expect(await failing(refused)).toBe(refused);
});
