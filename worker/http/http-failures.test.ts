import { expect, test, vi } from 'vitest';
import { failureOf, NoAnswer, Overloaded, RequestRefused, TransientFailure } from './http-failures.js';

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

test('the status text is shown, and hints can be replaced', () => {
  const hints = { 404: '; there is no such bucket' };
  expect(failureOf(answer(404, {}, 'Not Found'), hints).message).toBe(
    'the server answered 404 Not Found; there is no such bucket',
  );
  expect(failureOf(answer(403, {}, 'Forbidden'), hints).message).toBe('the server answered 403 Forbidden');
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
