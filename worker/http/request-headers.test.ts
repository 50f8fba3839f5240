import { expect, test } from 'vitest';
import { withoutValues } from '../errors/secrets.js';
import { addressOf } from './address.js';
import { NoAnswer } from './http-failures.js';
import { headersFor, secretsIn } from './request-headers.js';

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

const HIDDEN = `Basic ${btoa('me:hidden')}`;

test.for([
  ['a token', { Authorization: 'Bearer SECRET' }, 'SECRET is not a token', '… is not a token'],
  ['the whole header', { Authorization: 'Bearer SECRET' }, "wrong header 'Bearer SECRET'", "wrong header '…'"],
  ['another scheme', { Authorization: 'Bearer SECRET' }, 'use Bearer', 'use Bearer'],
  ['a token with a percent sign', { 'X-Token': 'a%b/c' }, 'a%25b%2Fc or a%b/c', '… or …'],
  ['a cookie', { Cookie: 'a=SECRET; b=HIDDEN' }, 'SECRET, HIDDEN', '…, …'],
  ['a password', { Authorization: HIDDEN }, `the password hidden (${btoa('me:hidden')})`, 'the password … (…)'],
  ['a header of any name', { 'X-Own': 'SECRET' }, 'not SECRET', 'not …'],
  ['a key of S3', { 'x-amz-server-side-encryption-customer-key': 'SECRET' }, 'not SECRET', 'not …'],
  [
    'a header without a secret',
    { 'x-ms-version': '2021-12-02', 'Content-Type': 'text/plain' },
    '2021-12-02 text/plain',
    '2021-12-02 text/plain',
  ],
  ['a short value', { Authorization: 'Bearer a' }, 'a bad token', 'a bad token'],
] as const)('%s', ([, headers, text, expected]) => {
  expect(withoutValues(text, secretsIn(headers))).toBe(expected);
});

test.for([
  ['sig=SECRET is wrong', 'sig=… is wrong'],
  ['X-Amz-Security-Token%3DSECRET%26a%3Db is wrong', 'X-Amz-Security-Token%3D… is wrong'],
  ['a%3dSECRET b%253DSECRET', 'a%3d… b%253D…'],
  ['sig\\u003dSECRET', 'sig\\u003d…'],
  ['sig&#61;SECRET sig&#x3D;SECRET', 'sig&#61;… sig&#x3D;…'],
  ['100%3 of 5', '100%3 of 5'],
] as const)('%s: without values', ([text, expected]) => {
  expect(withoutValues(text)).toBe(expected);
});
