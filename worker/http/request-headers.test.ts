import { expect, test } from 'vitest';
import { addressOf } from './address.js';
import { NoAnswer } from './http-failures.js';
import { headersFor } from './request-headers.js';

const HOST = addressOf('https://host/disk');
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
  expect([...(await headersFor(HOST, given))]).toEqual([...new Headers(expected)]);
});

test.for([
  ['a value', { 'X-Token': 'top\nsecret' }, 'X-Token'],
  ['a name', { 'X Token': 'secret' }, 'X Token'],
  ['one of a function', () => [['X-Token', 'secret\0']] as const, 'X-Token'],
] as const)('%s is refused, without its value', async ([, given, name]) => {
  const message = `The header '${name}' has an invalid character, such as a line break`;
  const reported: unknown = await headersFor(HOST, given).catch((thrown: unknown) => thrown);
  expect(reported).toMatchObject({ kind: 'usage', message });
  expect(reported).not.toHaveProperty('cause');
});

test('a TypeError in a headers function is retried, another error is not', async () => {
  const failing = (thrown: Error) => headersFor(HOST, () => Promise.reject(thrown)).catch((error: unknown) => error);
  const cause = new TypeError('fetch failed');
  const unanswered = await failing(cause);
  expect(unanswered).toBeInstanceOf(NoAnswer);
  expect(unanswered).toMatchObject({ message: 'fetch failed', cause });
  const refused = new Error('sign in again');
  expect(await failing(refused)).toBe(refused);
});

const BASIC = { Authorization: `Basic ${btoa('me:secret')}` };
const TOKEN = { authorization: 'Bearer mine' };

test.for([
  ['user and password, without headers', undefined, 'https://host/other', BASIC],
  ['user and password, beside headers', pairs, 'https://host/other', { ...pairs, ...BASIC }],
  ['user and password, with an empty list of headers', [], 'https://host/other', BASIC],
  ['user and password, with a function', () => [], 'https://host/other', BASIC],
  ["the caller's own Authorization", TOKEN, 'https://host/other', TOKEN],
  ['nothing, to another host', pairs, 'https://other/', {}],
  ['nothing, to another port', pairs, 'https://host:8443/', {}],
  ['nothing, without TLS', pairs, 'http://host/', {}],
] as const)('a request carries %s', async ([, given, url, expected]) => {
  const address = addressOf('https://me:secret@host/disk');
  expect([...(await headersFor(address, given, new URL(url)))]).toEqual([...new Headers(expected)]);
});
