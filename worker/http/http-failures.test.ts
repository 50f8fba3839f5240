import { expect, test, vi } from 'vitest';
import { DecantError } from '../errors/errors.js';
import {
  corsMessage,
  failureOf,
  isUnconnected,
  NoAnswer,
  namedFailureIn,
  networkReason,
  Overloaded,
  RequestRefused,
  TransientFailure,
} from './http-failures.js';

const answer = (status: number, headers = {}, statusText = '') => new Response(null, { status, statusText, headers });

test.for([408, 425, 429, 500, 502, 503, 504, 599])('%d is transient', (status) => {
  const failure = failureOf(answer(status));
  expect(failure).toBeInstanceOf(TransientFailure);
  expect(failure).not.toBeInstanceOf(NoAnswer);
  expect(failure instanceof Overloaded).toBe(status === 429 || status === 503);
});

test.for([
  [300, ''],
  [400, ''],
  [401, '; it requires a user or a token'],
  [403, '; it does not allow this, or the address has expired'],
  [404, '; there is no such file'],
  [405, ''],
  [407, '; a proxy requires a user'],
  [410, '; the file is gone'],
  [501, ''],
  [505, ''],
  [507, ''],
] as const)('%d is permanent', ([status, hint]) => {
  const failure = failureOf(answer(status));
  expect(failure).toBeInstanceOf(RequestRefused);
  expect(failure).toMatchObject({ status, message: `the server answered ${status}${hint}` });
});

test.for([
  [301, '; the bucket is in the region eu-north-1: use its endpoint'],
  [400, '; the bucket is in the region eu-north-1: use its endpoint'],
  [403, '; it does not allow this, or the address has expired'],
] as const)('%d of S3, for a bucket of another region', ([status, hint]) => {
  const failure = failureOf(answer(status, { 'x-amz-bucket-region': 'eu-north-1' }));
  expect(failure).toMatchObject({ status, message: `the server answered ${status}${hint}` });
});

test('the status text is shown, and hints can be replaced', () => {
  const hints = { 404: '; there is no such bucket' };
  expect(failureOf(answer(404, {}, 'Not Found'), { hints }).message).toBe(
    'the server answered 404 Not Found; there is no such bucket',
  );
  expect(failureOf(answer(403, {}, 'Forbidden'), { hints }).message).toBe('the server answered 403 Forbidden');
});

test.for([
  ['7', '7 seconds'],
  ['119', '119 seconds'],
  ['120', '2 minutes'],
  ['86400', '24 hours'],
  ['99999999', '1158 days'],
] as const)('Retry-After: %s is shown', ([value, wait]) => {
  expect(failureOf(answer(503, { 'Retry-After': value }))).toMatchObject({
    message: `the server answered 503; it asks to wait for ${wait}`,
    fields: { status: 503, retryAfter: Number(value) },
  });
});

test.for([
  ['0', 0],
  ['7', 7],
  [' 7 ', 7],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['soon', undefined],
  [undefined, undefined],
] as const)('Retry-After: %s', ([value, retryAfter]) => {
  vi.useFakeTimers({ now: new Date('2026-01-01T00:00:00Z') });
  const failure = failureOf(answer(503, value === undefined ? {} : { 'Retry-After': value }));
  vi.useRealTimers();
  expect(failure).toMatchObject({ retryAfter });
});

test.for([
  ['bad token=SECRET', [], 'the server answered 403 bad token=…'],
  ['bad SECRET', ['SECRET'], 'the server answered 403 bad …'],
] as const)('the reason phrase %s is shown without secrets', ([statusText, secrets, message]) => {
  expect(failureOf(answer(403, {}, statusText), { hints: {}, secrets }).message).toBe(message);
});

test.for([
  ['of Decant', new NoAnswer('silent', 3)],
  ['of the caller', new DecantError('usage', 'no proxy', { code: 'a' })],
] as const)('a failure %s that is already explained stays, also inside that of `fetch`', ([, failure]) => {
  expect(namedFailureIn(failure, 'server')).toBe(failure);
  expect(namedFailureIn(new TypeError('fetch failed', { cause: failure }), 'server')).toBe(failure);
});

test.for([
  ['a reason', new TypeError('failed', { cause: new Error('reset') }), 'reset'],
  ['none of its own', new TypeError('failed'), 'failed'],
  ['one of several IP addresses', new TypeError('', { cause: new AggregateError([new Error('refused')]) }), 'refused'],
  ['a secret', new TypeError('no SECRET'), 'no …'],
] as const)('the reason of a rejection with %s', ([, thrown, reason]) => {
  expect(networkReason(thrown, ['SECRET'])).toBe(reason);
  expect(namedFailureIn(thrown, 'host')).toBeUndefined();
});

const ORIGIN_RULE = 'send Access-Control-Allow-Origin';

test.each<[string, Record<string, string>, string]>([
  ['GET', {}, ORIGIN_RULE],
  ['HEAD', { Range: 'bytes=0-9', Accept: '*/*' }, ORIGIN_RULE],
  [
    'GET',
    { Range: 'bytes=0-9', 'X-A': '1' },
    `${ORIGIN_RULE}, allow the method GET (Access-Control-Allow-Methods) and allow the header x-a (Access-Control-Allow-Headers)`,
  ],
  ['DELETE', {}, `${ORIGIN_RULE} and allow the method DELETE (Access-Control-Allow-Methods)`],
  [
    'PUT',
    { 'X-B': 'secret', 'Content-MD5': '1' },
    `${ORIGIN_RULE}, allow the method PUT (Access-Control-Allow-Methods) and allow the headers content-md5, x-b (Access-Control-Allow-Headers)`,
  ],
])('%s with %o', (method, headers, must) => {
  expect(corsMessage('https://host', method, new Headers(headers))).toBe(
    `no answer came from https://host, or its CORS rules do not allow this page: then it must ${must}`,
  );
});

test.for([
  ['ECONNREFUSED', true],
  ['ENOTFOUND', true],
  ['EAI_AGAIN', true],
  ['ECONNRESET', false],
  ['ETIMEDOUT', false],
  [undefined, false],
] as const)('%s says that there was no connection: %s', ([code, is]) => {
  const cause = Object.assign(new Error('a reason'), { code });
  expect(isUnconnected(cause)).toBe(is);
  expect(isUnconnected(new TypeError('fetch failed', { cause }))).toBe(is);
  expect(isUnconnected(new NoAnswer('no answer', undefined, { cause: new TypeError('fetch failed', { cause }) }))).toBe(
    is,
  );
});
