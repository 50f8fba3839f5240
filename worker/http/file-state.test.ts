import { afterEach, expect, test, vi } from 'vitest';
import {
  checkState,
  type FileState,
  lastingQuery,
  provingValidators,
  SourceChanged,
  stateOf,
  whyUnverified,
} from './file-state.js';

const answer = (headers: Record<string, string>, status = 206): Response => new Response(null, { status, headers });

/** As a page of another origin sees it: headers that are not exposed are missing. */
const hidden = (headers: Record<string, string>): Response =>
  Object.defineProperty(answer(headers), 'type', { value: 'cors' });

const MODIFIED = 'Wed, 25 Nov 2026 10:00:00 GMT';
const LATER = 'Wed, 25 Nov 2026 10:00:01 GMT';
const EARLIER = 'Wed, 25 Nov 2026 09:59:59 GMT';
const TWO_MINUTES_LATER = new Date('2026-11-25T10:02:00Z');

afterEach(() => {
  vi.useRealTimers();
});

test.for([
  ['a strong ETag', { ETag: '"a"' }, ['"a"']],
  ['a strong ETag, and a time', { ETag: '"a"', 'Last-Modified': MODIFIED, Date: MODIFIED }, ['"a"']],
  ['a weak ETag', { ETag: 'W/"a"' }, undefined],
  ['an ETag without quotes', { ETag: 'a' }, undefined],
  ['a time that is a second old', { 'Last-Modified': MODIFIED, Date: LATER }, [MODIFIED, undefined]],
  // The file may change once more within that second.
  ['a time that is the present', { 'Last-Modified': MODIFIED, Date: MODIFIED }, undefined],
  ['a time to come', { 'Last-Modified': MODIFIED, Date: EARLIER }, undefined],
  ['a time that is none', { 'Last-Modified': 'Monday', Date: LATER }, undefined],
  ['a weak ETag, and a time', { ETag: 'W/"a"', 'Last-Modified': MODIFIED, Date: LATER }, [MODIFIED, 'W/"a"']],
  ['nothing', {}, undefined],
] as const)('validators that prove the same file: %s', ([, headers, proven]) => {
  expect(provingValidators(stateOf(answer(headers), 1000))).toEqual(proven);
});

test('without Date, the clocks may differ by a minute', () => {
  vi.useFakeTimers({ now: TWO_MINUTES_LATER });
  expect(provingValidators(stateOf(answer({ 'Last-Modified': MODIFIED }), 1000))).toEqual([MODIFIED, undefined]);
  vi.setSystemTime(new Date('2026-11-25T10:01:00Z'));
  expect(provingValidators(stateOf(answer({ 'Last-Modified': MODIFIED }), 1000))).toBeUndefined();
});

const STATE: FileState = { size: 1000, etag: '"a"', modified: 'Monday', isSettled: true };
const WEAK = { ...STATE, etag: 'W/"a"' };
const TIMED = { ...STATE, etag: undefined };
const BARE = { ...TIMED, modified: undefined, isSettled: false };
test.for([
  ['the same', STATE, { ETag: '"a"', 'Last-Modified': 'Monday' }, 1000, false],
  ['of an unknown size', STATE, { ETag: '"a"' }, undefined, false],
  ['the same ETag at another time', STATE, { ETag: '"a"', 'Last-Modified': 'Tuesday' }, 1000, false],
  ['another size', STATE, { ETag: '"a"' }, 1001, true],
  ['another ETag', STATE, { ETag: '"b"', 'Last-Modified': 'Monday' }, 1000, true],
  ['a weak ETag', STATE, { ETag: 'W/"a"' }, 1000, true],
  ['no ETag any more', STATE, { 'Last-Modified': 'Monday' }, 1000, true],
  ['the same weak ETag', WEAK, { ETag: 'W/"a"', 'Last-Modified': 'Monday' }, 1000, false],
  ['another weak ETag', WEAK, { ETag: 'W/"b"', 'Last-Modified': 'Monday' }, 1000, true],
  ['the same weak ETag at another time', WEAK, { ETag: 'W/"a"', 'Last-Modified': 'Tuesday' }, 1000, true],
  ['the same time', TIMED, { 'Last-Modified': 'Monday' }, 1000, false],
  ['another time', TIMED, { 'Last-Modified': 'Tuesday' }, 1000, true],
  ['no time any more', TIMED, {}, 1000, true],
  ['an ETag from now on', TIMED, { ETag: '"a"', 'Last-Modified': 'Monday' }, 1000, false],
  ['nothing, and the same size', BARE, {}, 1000, false],
  ['nothing, and another size', BARE, {}, 999, true],
] as const)('a file with a response that says %s', ([, state, headers, size, isOther]) => {
  const check = () => checkState(state, answer(headers), size);
  if (isOther) expect(check).toThrow(SourceChanged);
  else check();
});

const UNNOTICED = 'so a change of the file may go unnoticed';
test.for([
  ['an ETag', answer({}), STATE, undefined],
  ['a time', answer({}), TIMED, undefined],
  ['neither', answer({}), BARE, `https://host sends neither an ETag nor the time of the last change, ${UNNOTICED}`],
  [
    'a weak ETag',
    answer({}),
    { ...BARE, etag: 'W/"a"' },
    `https://host sends a weak ETag, which may stay the same when the file changes, ${UNNOTICED}`,
  ],
  [
    'the present time',
    answer({}),
    { ...TIMED, modified: MODIFIED, isSettled: false },
    `https://host states that the file was modified just now, in whole seconds, ${UNNOTICED}`,
  ],
  [
    'no proper time',
    answer({}),
    { ...TIMED, isSettled: false },
    `https://host sends an invalid time of the last change, ${UNNOTICED}`,
  ],
  ['all, to a page', hidden({ 'Content-Range': 'bytes 0-1/2' }), STATE, undefined],
  ['only a time, to a page', hidden({}), TIMED, 'https://host hides headers of the file from this page'],
] as [string, Response, FileState, string | undefined][])('a server that shows %s of a file', ([
  ,
  response,
  state,
  sentence,
]) => {
  const reported = whyUnverified(response, state, 'https://host');
  if (sentence === undefined) expect(reported).toBeUndefined();
  else expect(reported).toContain(sentence);
});

const S3 =
  'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=1&X-Amz-Date=2&X-Amz-Expires=3&X-Amz-SignedHeaders=host&X-Amz-Signature=4';
const GOOGLE =
  'X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=1&X-Goog-Date=2&X-Goog-Expires=3&X-Goog-SignedHeaders=host&X-Goog-Signature=4';
const USER_DELEGATION = 'skoid=1&sktid=2&skt=3&ske=4&sks=b&skv=5&saoid=6&suoid=7&scid=8';

const lasting = (query: string) => new URLSearchParams(lastingQuery(new URL(`https://host/disk?${query}`))).toString();

test.for([
  ['S3', `id=7&${S3}`, 'id=7'],
  ['S3, temporary keys', `${S3}&X-Amz-Security-Token=5&versionId=6`, 'versionId=6'],
  ['S3, version 2', 'AWSAccessKeyId=1&Signature=2&Expires=3&versionId=6', 'versionId=6'],
  ['S3, version 2, temporary keys', 'AWSAccessKeyId=1&Signature=2&Expires=3&x-amz-security-token=4', ''],
  ['Alibaba', 'OSSAccessKeyId=1&Signature=2&Expires=3&security-token=4&id=7', 'id=7'],
  ['Huawei', 'AccessKeyId=1&Signature=2&Expires=3&x-obs-security-token=4&id=7', 'id=7'],
  ['CloudFront, custom', 'Policy=1&Signature=2&Key-Pair-Id=3&id=7', 'id=7'],
  ['CloudFront, canned', 'Expires=1&Signature=2&Key-Pair-Id=3&id=7', 'id=7'],
  ['Google', `generation=5&${GOOGLE}`, 'generation=5'],
  ['Google, version 2', 'GoogleAccessId=1&Expires=2&Signature=3&generation=5', 'generation=5'],
  ['Azure, a service', 'sv=1&st=2&se=3&sr=b&sp=r&sig=4&spr=https&sip=5&rscd=a&sdd=1&ses=1', ''],
  ['Azure, a user', `sv=1&se=3&sr=b&sp=r&sig=4&${USER_DELEGATION}`, ''],
  ['Azure, an account', 'sv=1&ss=b&srt=o&sp=r&se=3&sig=4&snapshot=1&versionid=3', 'snapshot=1&versionid=3'],
  ['names in other case', 'AWSACCESSKEYID=1&signature=2&expires=3', ''],
] as const)('%s: the signature is dropped', ([, query, expected]) => {
  expect(lasting(query)).toBe(expected);
});

test.for([
  'id=7&v=2',
  'policy=a',
  'policy=a&key-pair-id=2',
  'signature=a&expires=2',
  'policy=a&signature=b&expires=c',
  'key-pair-id=1&policy=2',
  'sig=a',
  'sv=1&sr=b&sp=r',
  'sv=1&sig=2',
  'sv=1&sig=2&ss=b',
  'ses=1',
  'X-Amz-Date=1&X-Amz-Credential=2',
  'X-Goog-Expires=2&GoogleAccessId=1',
  'awsaccesskeyid=1&expires=2',
  'security-token=1',
  'signatures=1&policy2=2&sx=3',
])('%s is not a signature', (query) => {
  expect(lasting(query)).toBe(query);
});

test.for([
  ['another signature of the file', S3, '&policy=a', 'policy=a'],
  ['another service', GOOGLE, '&sig=1&se=2&signature=3', 'sig=1&se=2&signature=3'],
] as const)('parameters that do not belong to the signature are kept: %s', ([, signature, own, expected]) => {
  expect(lasting(signature + own)).toBe(expected);
});
