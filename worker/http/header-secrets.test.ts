import { expect, test } from 'vitest';
import { withoutValues } from '../errors/secrets.js';
import { secretsIn } from './header-secrets.js';

const BASIC = `Basic ${btoa('me:hidden')}`;

test.for([
  ['a token', { Authorization: 'Bearer SECRET' }, 'SECRET is not a token', '… is not a token'],
  ['the whole header', { Authorization: 'Bearer SECRET' }, "wrong header 'Bearer SECRET'", "wrong header '…'"],
  ['another scheme', { Authorization: 'Bearer SECRET' }, 'use Bearer', 'use Bearer'],
  ['a token with a percent sign', { 'X-Token': 'a%b/c' }, 'a%25b%2Fc or a%b/c', '… or …'],
  ['a cookie', { Cookie: 'a=SECRET; b=HIDDEN' }, 'SECRET, HIDDEN', '…, …'],
  ['a password', { Authorization: BASIC }, `the password hidden (${btoa('me:hidden')})`, 'the password … (…)'],
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
