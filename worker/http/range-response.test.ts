import { expect, test } from 'vitest';
import { FAULTS, LASTING, rangeOf, replyOf, responseOf } from '../../e2e/support/replies.js';
import { checkState } from './file-state.js';
import { checkRangeResponse, contentCoding, contentLength, isWholeFile } from './range-response.js';

const ASKED = { start: 100, end: 200 };

const answer = (headers: Record<string, string>, status = 206): Response => new Response(null, { status, headers });

/** As a page of another origin sees it: headers that are not exposed are missing. */
function hidden(headers: Record<string, string>, status = 206): Response {
  return Object.defineProperty(answer(headers, status), 'type', { value: 'cors' });
}

const part = (range: string) => answer({ 'Content-Range': range });

test.for([
  ['all of it', part('bytes 100-199/1000'), { end: 200, size: 1000 }],
  ['less of it', part('bytes 100-100/1000'), { end: 101, size: 1000 }],
  ['in other letters', part(' BYTES 100-199/1000 '), { end: 200, size: 1000 }],
  ['of a file of unknown size', part('bytes 100-199/*'), { end: 200, size: undefined }],
  ['hidden from a page', hidden({}), { end: 200, size: undefined }],
  ['shown to a page', hidden({ 'Content-Range': 'bytes 100-149/1000' }), { end: 150, size: 1000 }],
  ['of its length', answer({ 'Content-Range': 'bytes 100-199/1000', 'Content-Length': '100' }), { end: 200 }],
  [
    'of a length that is hidden',
    hidden({ 'Content-Range': 'bytes 100-199/1000', 'Content-Length': '50' }),
    { end: 200 },
  ],
  ['encoded as it is', answer({ 'Content-Range': 'bytes 100-199/1000', 'Content-Encoding': 'Identity' }), { end: 200 }],
  ['416, with a size', answer({ 'Content-Range': 'bytes */50' }, 416), { end: 100, size: 50 }],
  ['416, without one', answer({}, 416), { end: 100, size: undefined }],
  ['an empty file', answer({ 'Content-Length': '0' }, 200), { end: 100, size: 0 }],
] as const)('a part of the file: %s', ([, response, expected]) => {
  expect(checkRangeResponse(response, ASKED)).toMatchObject(expected);
});

const OTHER = 'instead of bytes 100 to 199';
test.for([
  ['the whole file', answer({}, 200), 'the server sent the whole file instead of the requested range'],
  ['one byte earlier', part('bytes 99-198/1000'), `the server sent bytes 99 to 198 ${OTHER}`],
  ['one byte later', part('bytes 101-199/1000'), `the server sent bytes 101 to 199 ${OTHER}`],
  ['one byte more', part('bytes 100-200/1000'), `the server sent bytes 100 to 200 ${OTHER}`],
  ['its end before its start', part('bytes 100-99/1000'), `the server sent bytes 100 to 99 ${OTHER}`],
  [
    'several parts',
    answer({ 'Content-Type': 'multipart/byteranges; boundary=x' }),
    `the server sent several parts ${OTHER}`,
  ],
  [
    'another length than its range',
    answer({ 'Content-Range': 'bytes 100-199/1000', 'Content-Length': '50' }),
    'the server states 100 bytes, 100 to 199, in Content-Range, but 50 bytes in Content-Length',
  ],
  [
    'of a file that is too large',
    part(`bytes 100-199/${'9'.repeat(23)}`),
    `the server states an impossible file size: ${'9'.repeat(23)} bytes`,
  ],
  ['no range', answer({}), 'the server does not state which part of the file it sends (Content-Range)'],
  ['a range in words', part('bytes all'), 'the server does not state which part of the file it sends (Content-Range)'],
  [
    'a range of none',
    part('bytes */1000'),
    'the server does not state which part of the file it sends (Content-Range)',
  ],
  [
    'encoded',
    answer({ 'Content-Encoding': 'gzip' }),
    'the server sends the file encoded as gzip, so its parts cannot be read',
  ],
  ['refused', answer({}, 404), 'the server answered 404; there is no such file'],
  ['redirected to nowhere', answer({}, 302), 'the server answered 302'],
  ['without content', answer({}, 204), 'the server answered 204'],
] as const)('not a part of the file: %s', ([, response, message]) => {
  expect(() => checkRangeResponse(response, ASKED)).toThrow(message);
});

test.for(LASTING)('the fault %s is found by the response, its length or its state', (fault) => {
  const whole = new Uint8Array(1000);
  const asked = { method: 'GET', url: new URL('http://host/'), range: 'bytes=100-199', headers: {} };
  const state = { size: 1000, etag: '"now"', modified: undefined, isSettled: false };
  const find = () => {
    const reply = replyOf(whole, asked, fault);
    const response = responseOf(reply);
    const { end, size } = checkRangeResponse(response, rangeOf(asked)!);
    checkState(state, response, size);
    if (end !== 200 || reply.body?.length !== 100) throw new Error('its length');
  };
  expect(FAULTS).toHaveProperty(fault);
  expect(find).toThrow();
});

test.for([
  ['0', 0],
  ['17', 17],
  ['-1', undefined],
  ['1, 1', undefined],
  ['', undefined],
  [undefined, undefined],
] as const)('Content-Length %s', ([value, length]) => {
  expect(contentLength(answer(value === undefined ? {} : { 'Content-Length': value }))).toBe(length);
});

test.for([
  ['GZip ', 'gzip'],
  ['gzip, br', 'gzip, br'],
  ['identity', undefined],
  // Values that stores keep from an upload are not encodings.
  ['aws-chunked', undefined],
  ['AWS-chunked, gzip', 'gzip'],
  ['gzip,aws-chunked', 'gzip'],
  ['utf-8', undefined],
  ['UTF8', undefined],
  ['binary', undefined],
  ['none', undefined],
  ['', undefined],
  [undefined, undefined],
] as const)('Content-Encoding %s', ([value, coding]) => {
  expect(contentCoding(answer(value === undefined ? {} : { 'Content-Encoding': value }))).toBe(coding);
});

test.for([
  [200, {}, true],
  [200, { 'Content-Length': '1' }, true],
  [200, { 'Content-Length': '0' }, false],
  [206, { 'Content-Length': '1' }, false],
  [404, {}, false],
] as const)('%d %o is a whole file: %s', ([status, headers, is]) => {
  expect(isWholeFile(answer(headers as Record<string, string>, status))).toBe(is);
});
