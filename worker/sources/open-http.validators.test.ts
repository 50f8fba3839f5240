// Validators that appear later, or differ in the response that states the size.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fakeFile, type Reply, rangeOf } from '../../e2e/support/replies.js';
import { openHttp } from './open-http.js';

beforeEach(() => {
  vi.useFakeTimers();
  vi.setTimerTickMode('nextTimerAsync');
});
afterEach(() => void vi.useRealTimers());

const ADDRESS = 'https://127.0.0.1/disk.raw';
const MODIFIED = 'Wed, 25 Nov 2026 10:00:00 GMT';
const TIMED = { 'Last-Modified': MODIFIED, Date: 'Wed, 25 Nov 2026 10:01:00 GMT' };
const whole = new Uint8Array(1 << 20).fill(7);
const { signal } = new AbortController();

/** Opens a file on a server that sends the headers `headersOf` with the request of a number, from 0. */
function open(
  headersOf: (number: number, method: string) => Record<string, string>,
  size: number | '*' = whole.length,
) {
  let count = 0;
  const { fetch, asked } = fakeFile(whole, {
    answer: (request): Reply => {
      const headers = headersOf(count, request.method);
      count += 1;
      const range = rangeOf(request, whole.length);
      if (!range) return { status: 200, headers: { ...headers, 'Content-Length': whole.length } };
      const { start, end } = range;
      const own = { ...headers, 'Content-Range': `bytes ${start}-${end - 1}/${size}` };
      return { status: 206, headers: own, body: whole.subarray(start, end) };
    },
  });
  return { asked, opening: openHttp({ seesRedirects: true }, ADDRESS, { fetch }) };
}

test('an ETag that appears later: a change may go unnoticed', async () => {
  const source = await open((number) => (number === 0 ? TIMED : { ...TIMED, ETag: '"a"' })).opening;
  expect(source.unnoticed).toBeUndefined();
  await source.read(500_000, 10, { signal });
  expect(source.unnoticed).toBe(
    'https://127.0.0.1 sends an ETag with only some responses, so a change of the file may go unnoticed',
  );
});

test('ETags that appear later and differ: the file was changed', async () => {
  const source = await open((number) => (number === 0 ? TIMED : { ...TIMED, ETag: `"${number}"` })).opening;
  await source.read(300_000, 10, { signal });
  await expect(source.read(900_000, 10, { signal })).rejects.toMatchObject({ code: 'source-changed' });
});

test('the response that states the size is of another state: opening starts again', async () => {
  for (const name of ['ETag', 'Last-Modified']) {
    const values = name === 'ETag' ? ['"a"', '"b"', '"b"', '"b"'] : [MODIFIED, ...Array(3).fill(TIMED.Date)];
    const { asked, opening } = open((number) => ({ [name]: values[number] }), '*');
    expect((await opening).size).toBe(whole.length);
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'HEAD', 'GET', 'HEAD']);
  }
});

test('the response that states the size is always of another state', async () => {
  const { asked, opening } = open((_, method) => ({ ETag: method === 'HEAD' ? '"b"' : '"a"' }), '*');
  await expect(opening).rejects.toMatchObject({ kind: 'source', code: 'source-alternates' });
  expect(asked).toHaveLength(6);
});

test.for([
  [{ ETag: '"a"' }, {}],
  [{ ETag: '"a"' }, { ETag: 'W/"a"' }],
  [TIMED, { ETag: '"a"' }],
  [
    { ...TIMED, ETag: '"a"' },
    { ETag: '"a"', 'Last-Modified': 'Tue, 24 Nov 2026 10:00:00 GMT' },
  ],
] as Record<string, string>[][])('%o, and a size with %o', async ([part, head]) => {
  const { asked, opening } = open((_, method) => (method === 'HEAD' ? head! : part!), '*');
  expect((await opening).size).toBe(whole.length);
  expect(asked).toHaveLength(2);
});
