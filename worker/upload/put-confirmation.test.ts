// Answers of servers to a PUT or POST, and to HEAD.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DecantError } from '../errors/errors.js';
import type { TargetEnd } from '../public/types.js';
import type { PutSettings } from './put.js';
import { DISK, failure, planOf, runClock, TARGETS, upload } from './uploads.test-support.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const URL_HERE = 'https://cloud.test/put/disk';
const SIZE = { 'Content-Length': String(DISK.length) };
type Answer = [status: number, headers?: Record<string, string>];

/** Uploads to a server that answers `sent` to the PUT or POST, and to HEAD by URL, otherwise 404. */
async function uploaded(
  sent: Answer,
  heads: Record<string, Answer> = {},
  { disk = DISK, ...options }: PutSettings & { disk?: Buffer } = {},
) {
  const asked: string[] = [];
  const tokens: (string | null)[] = [];
  const fetch = async (url: unknown, { method, body, headers: given }: RequestInit = {}): Promise<Response> => {
    asked.push(`${method} ${url}`);
    tokens.push(new Headers(given).get('X-Token'));
    await new Response(body).arrayBuffer();
    const [status, headers = {}] = method === 'HEAD' ? (heads[String(url)] ?? [404]) : sent;
    return new Response(null, { status, headers });
  };
  const target = TARGETS.put(
    { fetch: fetch as typeof globalThis.fetch },
    { headers: { 'X-Token': 'mine' }, ...options },
  );
  const end = await runClock(upload(target, disk, planOf(disk)).catch((thrown: unknown) => thrown));
  const message = end instanceof DecantError ? end.message.replace(/^.*?': /, '') : undefined;
  const code = end instanceof DecantError ? end.code : undefined;
  return { asked, tokens, message, code, unconfirmed: (end as TargetEnd).unconfirmed };
}

/** The outcomes. */
const RIGHT = undefined;
const SAYS = /^The server accepted the upload, but did not confirm that the object is complete: /;
const OTHER = { code: 'object-differs' };

const MADE = 'https://cloud.test/files/1';
const HERE = URL_HERE;

test.each<[string, Answer, Record<string, Answer>, undefined | RegExp | { code: string }]>([
  ['201, the object here', [201], { [HERE]: [200, SIZE] }, RIGHT],
  ['201 that names this URL', [201, { Location: '/put/disk' }], { [HERE]: [200, SIZE] }, RIGHT],
  ['201 that names this URL, without an object', [201, { Location: '/put/disk' }], {}, { code: 'upload-incomplete' }],
  ['201 that names an object elsewhere', [201, { Location: '/files/1' }], { [MADE]: [200, SIZE] }, RIGHT],
  [
    '200 that names an object elsewhere',
    [200, { Location: '/files/1' }],
    { [MADE]: [200, SIZE] },
    { code: 'upload-incomplete' },
  ],
  [
    'an object elsewhere that is shorter',
    [201, { Location: '/files/1' }],
    { [MADE]: [200, { 'Content-Length': '5' }] },
    OTHER,
  ],
  [
    'an object elsewhere with another ETag',
    [201, { Location: '/files/1', ETag: '"a"' }],
    { [MADE]: [200, { ...SIZE, ETag: '"b"' }] },
    OTHER,
  ],
  ['an object elsewhere that is not shown', [201, { Location: '/files/1' }], {}, SAYS],
  ['an object elsewhere, and HEAD is not allowed', [201, { Location: '/files/1' }], { [MADE]: [405] }, SAYS],
  ['an object elsewhere without a length', [201, { Location: '/files/1' }], { [MADE]: [200] }, SAYS],
  [
    'an object elsewhere with a length of 0',
    [201, { Location: '/files/1' }],
    { [MADE]: [200, { 'Content-Length': '0' }] },
    SAYS,
  ],
  ...['text/html; charset=utf-8', 'application/json', 'application/vnd.api+json', 'text/xml'].map(
    (type): [string, Answer, Record<string, Answer>, RegExp] => [
      `a description elsewhere of type ${type}`,
      [201, { Location: '/files/1' }],
      { [MADE]: [200, { 'Content-Length': '5', 'Content-Type': type }] },
      SAYS,
    ],
  ),
  ['an object elsewhere that is shown here', [201, { Location: '/files/1' }], { [HERE]: [200, SIZE] }, RIGHT],
  [
    'an object elsewhere, another one here',
    [201, { Location: '/files/1' }],
    { [HERE]: [200, { 'Content-Length': '5' }] },
    SAYS,
  ],
  ['another origin', [201, { Location: 'https://other.test/files/1' }], {}, SAYS],
  [
    'another origin, but the object is here',
    [201, { Location: 'https://other.test/1' }],
    { [HERE]: [200, SIZE] },
    RIGHT,
  ],
  ['a Location that is not an address', [201, { Location: 'ftp://[' }], {}, SAYS],
  ['no Location, no object', [201], {}, { code: 'upload-incomplete' }],
  ['no object any more', [204], { [HERE]: [410] }, { code: 'upload-incomplete' }],
  ['202, no object yet', [202], {}, SAYS],
  ['HEAD that is not allowed', [200], { [HERE]: [405] }, SAYS],
  ['a length of 0', [200], { [HERE]: [200, { 'Content-Length': '0' }] }, SAYS],
  ['a length of 0, with a weak ETag', [200], { [HERE]: [200, { 'Content-Length': '0', ETag: 'W/"0"' }] }, SAYS],
  ['an empty file', [200], { [HERE]: [200, { 'Content-Length': '0', ETag: '"0"' }] }, OTHER],
  [
    'an empty file with a date',
    [200],
    { [HERE]: [200, { 'Content-Length': '0', 'Last-Modified': 'Sun, 29 Nov 2026 11:00:00 GMT' }] },
    OTHER,
  ],
  ['a shorter object', [200], { [HERE]: [200, { 'Content-Length': '5' }] }, OTHER],
])('%s', async (_, sent, heads, expected) => {
  const { unconfirmed, message, code } = await uploaded(sent, heads);
  if (expected === undefined) expect([unconfirmed, message]).toEqual([undefined, undefined]);
  else if (expected instanceof RegExp)
    expect([unconfirmed, message]).toEqual([expect.stringMatching(expected), undefined]);
  else expect({ code }).toEqual(expected);
});

test('the sentence about a missing object has both statuses', async () => {
  const { message } = await uploaded([201]);
  expect(message).toBe('the server answered 201 to PUT, but 404 to HEAD');
});

test('a page is told that Location may be hidden', async () => {
  vi.stubGlobal('document', {});
  const { message } = await uploaded([201]);
  vi.unstubAllGlobals();
  expect(message).toBe(
    'the server answered 201 to PUT, but 404 to HEAD; if the object is elsewhere, the CORS rules must expose Location',
  );
});

test('headers of the caller go to the same origin only', async () => {
  const same = await uploaded([201, { Location: '/files/1' }], { [MADE]: [200, SIZE] });
  expect([same.asked, same.tokens]).toEqual([
    [`PUT ${HERE}`, `HEAD ${MADE}`],
    ['mine', 'mine'],
  ]);
  const other = await uploaded([201, { Location: 'https://other.test/files/1' }]);
  expect(other.asked).toEqual([`PUT ${HERE}`, `HEAD ${HERE}`]);
});

test.each([
  ['PUT', [201]],
  ['PUT', [201, { Location: '/files/1' }]],
  ['POST', [200]],
] as [
  PutSettings['method'] & string,
  Answer,
][])('with confirm: false, the response to %s %o is enough', async (method, sent) => {
  const { asked, message, unconfirmed } = await uploaded(sent, {}, { confirm: false, method });
  expect(asked).toEqual([`${method} ${HERE}`]);
  expect([message, unconfirmed]).toEqual([undefined, expect.stringMatching(/the object was not checked/)]);
});

test.each<[string, Answer, Record<string, Answer>, string[], RegExp | undefined]>([
  ['200', [200], { [HERE]: [200, SIZE] }, [], SAYS],
  ['204', [204], {}, [], SAYS],
  ['201 that names the object', [201, { Location: '/files/1' }], { [MADE]: [200, SIZE] }, [`HEAD ${MADE}`], RIGHT],
  ['201 that names a missing object', [201, { Location: '/files/1' }], {}, [`HEAD ${MADE}`], SAYS],
])('a POST: %s', async (_, sent, heads, looks, expected) => {
  const { asked, message, unconfirmed } = await uploaded(sent, heads, { method: 'POST' });
  expect(asked).toEqual([`POST ${HERE}`, ...looks]);
  expect(message).toBeUndefined();
  if (expected) expect(unconfirmed).toMatch(expected);
  else expect(unconfirmed).toBeUndefined();
});

test('an empty output', async () => {
  const empty = { disk: Buffer.alloc(0) };
  expect((await uploaded([201], { [HERE]: [200, { 'Content-Length': '0' }] }, empty)).unconfirmed).toBeUndefined();
  const made = { [MADE]: [200, { 'Content-Length': '0' }] as Answer };
  expect((await uploaded([201, { Location: '/files/1' }], made, empty)).unconfirmed).toBeUndefined();
});

test('a POST that is cancelled at its end: nothing shows whether the object was made', async () => {
  const fetch = async (_: unknown, { body }: RequestInit = {}): Promise<Response> => {
    await new Response(body).arrayBuffer();
    return new Promise(() => {});
  };
  const target = TARGETS.put({ fetch: fetch as typeof globalThis.fetch }, { method: 'POST' });
  await target.open(planOf(DISK));
  await target.write(0, new Uint8Array(DISK));
  const closing = failure(target.close());
  await vi.advanceTimersByTimeAsync(10);
  const aborted = await runClock(target.abort(new Error('cancelled')).then(String, (thrown: unknown) => thrown));
  expect(aborted).toMatchObject({ code: 'object-completed' });
  await runClock(closing);
});
