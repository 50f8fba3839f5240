import { expect, test } from 'vitest';
import { addressOf } from './address.js';
import { checkHttpOptions, LONGEST_TIMER, milliseconds } from './http-options.js';
import type { HttpOptions } from './http-types.js';
import { headersFor } from './request-headers.js';

test.for([
  {},
  { headers: undefined, credentials: undefined, fetch: undefined, timeout: undefined, patience: undefined },
  { headers: {}, credentials: 'omit', fetch: async () => new Response(), timeout: 0, patience: 0.5 },
  { headers: [['X-A', '1']], credentials: 'include', timeout: Number.POSITIVE_INFINITY },
  { headers: new Headers(), credentials: 'same-origin' },
  { headers: () => ({}) },
] as HttpOptions[])('%o is accepted', (options) => {
  expect(() => checkHttpOptions(options)).not.toThrow();
});

const HEADERS = "'headers' must be an object, a list of pairs, or a function that returns one of these";
const unsendable = (name: string) => `The header '${name}' cannot be given: the platform sets it for each request`;

test.for([
  [null, "'options' must be an object"],
  ['secret', "'options' must be an object"],
  [{ headers: null }, HEADERS],
  [{ headers: 'X-Token: secret' }, HEADERS],
  [{ headers: 5 }, HEADERS],
  [{ headers: { Expect: '100-continue' } }, unsendable('Expect')],
  [{ headers: [['HOST', 'secret']] }, unsendable('HOST')],
  [{ headers: new Headers({ 'Transfer-Encoding': 'chunked' }) }, unsendable('transfer-encoding')],
  [{ headers: { 'Content-Length': '5' } }, unsendable('Content-Length')],
  [
    {
      headers: [
        ['X-A', 'b'],
        ['Connection', 'close'],
      ],
    },
    unsendable('Connection'),
  ],
  [{ credentials: 'secret' }, "'credentials' must be one of omit, same-origin, include"],
  [{ credentials: true }, "'credentials' must be one of omit, same-origin, include"],
  [{ fetch: null }, "'fetch' must be a function"],
  [{ fetch: 'secret' }, "'fetch' must be a function"],
  [{ allowUrl: false }, "'allowUrl' must be a function"],
  [{ onWaiting: 'secret' }, "'onWaiting' must be a function"],
  [{ timeout: '5' }, "'timeout' must be a number of seconds, 0 or more, not a value of type string"],
  [{ timeout: null }, "'timeout' must be a number of seconds, 0 or more, not a value of type null"],
  [{ limit: 6 }, "'limit' must be a RequestLimit"],
  [{ patience: -1 }, "'patience' must be a number of seconds, 0 or more, not -1"],
] as const)('%o is refused', ([options, message]) => {
  const check = () => checkHttpOptions(options as unknown as HttpOptions);
  expect(check).toThrow(expect.objectContaining({ kind: 'usage', message }));
});

test('an option that cannot be read is refused', () => {
  const options = {
    get headers(): never {
      throw new Error('a');
    },
  };
  const message = 'Could not read the options: a';
  expect(() => checkHttpOptions(options)).toThrow(expect.objectContaining({ kind: 'usage', message }));
});

test.for([null, undefined, 'X-Token: secret', 5])('a headers function that returns %s is refused', async (given) => {
  const made = headersFor(addressOf('https://host/'), (() => given) as unknown as () => Record<string, string>);
  await expect(made).rejects.toMatchObject({ kind: 'usage', message: HEADERS });
});

test.for([
  ['a function', () => ({ Upgrade: 'secret' })],
  ['an iterator', [['Upgrade', 'secret'] as const][Symbol.iterator]()],
] as const)('a header that cannot be sent, from %s, is refused', async ([, headers]) => {
  expect(() => checkHttpOptions({ headers })).not.toThrow();
  const made = headersFor(addressOf('https://host/'), headers);
  await expect(made).rejects.toMatchObject({ kind: 'usage', message: unsendable('Upgrade') });
});

test.for([
  [0, 0],
  [0.5, 500],
  [30, 30_000],
  [LONGEST_TIMER, LONGEST_TIMER],
  [Number.POSITIVE_INFINITY, LONGEST_TIMER],
])('%d seconds are %d milliseconds', ([seconds, expected]) => {
  expect(milliseconds('timeout', seconds!)).toBe(expected);
});

test.for([
  [Number.NaN, 'NaN'],
  [-1, '-1'],
  [-0.001, '-0.001'],
  ['5', 'a value of type string'],
  [null, 'a value of type null'],
  [5n, 'a value of type bigint'],
  [[5], 'a value of type object'],
  [Symbol('5'), 'a value of type symbol'],
] as const)('%s is not a time', ([seconds, given]) => {
  const message = `'patience' must be a number of seconds, 0 or more, not ${given}`;
  expect(() => milliseconds('patience', seconds as number)).toThrow(
    expect.objectContaining({ kind: 'usage', message }),
  );
});
