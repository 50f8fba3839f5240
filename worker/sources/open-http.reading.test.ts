// Reads of files on servers, with a fake `fetch` and a clock that runs as fast as possible.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { random } from '../../e2e/support/random.js';
import {
  type Asked,
  FAULTS,
  type Fault,
  fakeFile,
  LASTING,
  PASSING,
  type Reply,
  rangeOf,
  replyOf,
} from '../../e2e/support/replies.js';
import { byScope } from '../../e2e/support/scope.js';
import { DecantError } from '../errors/errors.js';
import type { HttpOptions } from '../http/http-types.js';
import { RequestLimit } from '../http/request-limit.js';
import { HttpSource } from './http-source.js';
import { openHttp } from './open-http.js';

const NODE = { seesRedirects: true };
const KIB = 1 << 10;
const MIB = 1 << 20;
const HEAD = 64 * KIB;

/** A file without equal parts. */
const whole = Buffer.from(Uint32Array.from({ length: 2 * MIB }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);

const FEW = { offset: MIB, length: 10 };

/** Ranges so far apart that each needs its own request. */
const SCATTERED = Array.from({ length: 16 }, (_, at) => ({ offset: HEAD + at * 500_000, length: 10_000 + at }));

beforeEach(() => {
  vi.useFakeTimers();
  vi.setTimerTickMode('nextTimerAsync');
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
});

let hosts = 0;

/** Opens a file on a new server. */
async function open(fetch: typeof globalThis.fetch, options: HttpOptions = {}): Promise<HttpSource> {
  hosts += 1;
  const source = await openHttp(NODE, `https://host${hosts}/disk`, { fetch, ...options });
  expect(source).toBeInstanceOf(HttpSource);
  return source as HttpSource;
}

interface Range {
  offset: number;
  length: number;
}

/** A read without a cancel. */
const read = (source: HttpSource, { offset, length }: Range) =>
  source.read(offset, length, { signal: new AbortController().signal });

const verify = (source: HttpSource) => source.verify({ signal: new AbortController().signal });

const isRight = ({ offset, length }: Range, bytes: Uint8Array): boolean =>
  Buffer.compare(bytes, whole.subarray(offset, offset + length)) === 0;

/** Reads `ranges` as a conversion does: announced, eight at once, with the state verified at the end. */
async function convert(source: HttpSource, ranges: Range[], { signal } = new AbortController()): Promise<boolean> {
  source.expect(ranges);
  const rest = [...ranges];
  let right = true;
  const work = async () => {
    for (let range = rest.shift(); range; range = rest.shift()) {
      right &&= isRight(range, await source.read(range.offset, range.length, { signal }));
    }
  };
  const workers = Array.from({ length: 8 }, work);
  try {
    await Promise.all(workers);
    await source.verify({ signal });
    return right;
  } finally {
    source.expect([]);
    await Promise.allSettled(workers);
  }
}

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (thrown: Error) => (thrown instanceof DecantError ? `${thrown.kind}: ${thrown.message}` : thrown.message),
  );

const TABLES_END = 512 * KIB;
/** The end of the file, which is read first when an image is opened. */
const TAIL = { offset: whole.length - 512, length: 512 };
/** Reads of tables: one in the first part of the file, one on its end, and one after it. */
const TABLES = [
  { offset: 3 * HEAD, length: 8 },
  { offset: 4 * HEAD, length: HEAD },
  { offset: TABLES_END - 10, length: 20 },
  { offset: MIB, length: 8 },
];

describe('the first tables', () => {
  test('are requested together with the end of the file', async () => {
    let release = () => {};
    const isAsked = new Promise<void>((done) => {
      release = done;
    });
    // Neither is answered before both are requested.
    const before = (_: Asked, number: number) => {
      if (number === 2) release();
      return number === 0 ? undefined : isAsked;
    };
    const { fetch, asked } = fakeFile(whole, { before });
    const source = await open(fetch);
    const [tail, ...tables] = await Promise.all([TAIL, ...TABLES.slice(0, 2)].map((range) => read(source, range)));
    expect(isRight(TAIL, tail!)).toBe(true);
    expect(tables.every((bytes, at) => isRight(TABLES[at]!, bytes))).toBe(true);
    expect(asked.map(({ range }) => range).toSorted()).toEqual(
      ['bytes=0-65535', `bytes=${TAIL.offset}-${whole.length - 1}`, `bytes=${HEAD}-${TABLES_END - 1}`].toSorted(),
    );
  });

  test('need no further requests, announced or not', async () => {
    const { fetch, asked } = fakeFile(whole);
    const source = await open(fetch);
    await Promise.all([TAIL, TABLES[0]!].map((range) => read(source, range)));
    source.expect(TABLES.slice(1));
    for (const range of TABLES) expect(isRight(range, await read(source, range))).toBe(true);
    expect(asked.slice(3).map(({ range }) => range)).toEqual(['bytes=524288-524297', 'bytes=1048576-1048583']);
  });

  test('are not fetched if the first read is elsewhere, or the head has all', async () => {
    const { fetch, asked } = fakeFile(whole);
    const source = await open(fetch);
    await read(source, FEW);
    await read(source, TAIL);
    expect(asked).toHaveLength(3);
    const small = fakeFile(whole.subarray(0, HEAD));
    await read(await open(small.fetch), { offset: HEAD - 512, length: 512 });
    expect(small.asked).toHaveLength(1);
  });

  test('of a small file are all of it: one request', async () => {
    const { fetch, asked } = fakeFile(whole.subarray(0, 5 * HEAD));
    const source = await open(fetch);
    const end = { offset: 5 * HEAD - 512, length: 512 };
    expect(isRight(end, await read(source, end))).toBe(true);
    expect(isRight(TABLES[0]!, await read(source, TABLES[0]!))).toBe(true);
    expect(asked).toHaveLength(2);
  });

  test.for([...PASSING, ...LASTING])('are read again after a fault: %s', async (fault) => {
    const { fetch } = fakeFile(whole, { fault: (number) => (number === 1 ? fault : undefined) });
    const source = await open(fetch);
    const tail = read(source, TAIL).catch(() => {});
    const reads = TABLES.map(async (range) => isRight(range, await read(source, range)));
    await tail;
    expect(await Promise.all(reads)).toEqual([true, true, true, true]);
  });

  test.for(['read', 'stop', 'expect'])('end with %s', async (how) => {
    let aborted = 0;
    const { fetch } = fakeFile(whole);
    const holding: typeof fetch = async (url, init) => {
      const isTables = new Headers(init?.headers).get('Range')?.startsWith(`bytes=${HEAD}-`);
      if (!isTables) return fetch(url, init);
      return new Promise((_, reject) =>
        init!.signal!.addEventListener('abort', () => {
          aborted += 1;
          reject(init!.signal!.reason);
        }),
      );
    };
    const source = await open(holding);
    expect(isRight(TAIL, await read(source, TAIL))).toBe(true);
    const ending = new AbortController();
    const { offset, length } = TABLES[0]!;
    const reading = failureOf(source.read(offset, length, { signal: ending.signal }));
    if (how === 'read') ending.abort();
    else if (how === 'stop') source.stop();
    else source.expect([]);
    expect(await reading).toBe(how === 'read' ? 'cancelled: The operation was cancelled' : 'nothing failed');
    expect(aborted).toBe(1);
  });
});

test.for(PASSING)('a temporary fault while reading: %s', async (fault) => {
  const { fetch } = fakeFile(whole, { fault: (number) => (number === 3 || number === 5 ? fault : undefined) });
  const source = await open(fetch);
  expect(await convert(source, SCATTERED)).toBe(true);
  const bytes = SCATTERED.reduce((sum, { length }) => sum + length, 0);
  expect(source.network.received).toBeGreaterThanOrEqual(HEAD + bytes);
  const isAskedAgain = !fault.startsWith('redirect') && fault !== 'fewer, as it says';
  expect(source.network.retries).toBe(isAskedAgain ? 2 : 0);
  expect(source.state).toBeDefined();
});

const CHANGED = 'the file changed on the server while it was read; open it again';
const ALTERNATING =
  'the servers of this address send different ETags or times for the file, so changes cannot be detected; give the address of one of them, or download the file and open it';
const SENTENCES: Record<string, string | RegExp> = {
  'another range': /^the server sent bytes \d+ to \d+ instead of bytes \d+ to \d+$/,
  'no range': 'the server does not state which part of the file it sends (Content-Range)',
  'another size': CHANGED,
  more: 'the server sent more bytes than requested',
  whole: 'the server sent the whole file instead of the requested range',
  'another ETag': ALTERNATING,
  'several parts': /^the server sent several parts instead of bytes \d+ to \d+$/,
  encoded: /^the server sends the file encoded as x-other, so its parts cannot be read;/,
  'status 404': 'the server answered 404 Not Found; there is no such file',
  'status 403': 'the server answered 403 Forbidden; it does not allow this, or the address has expired',
  'status 416': CHANGED,
  'redirect to nowhere': "the server's Location header leads to an address of ftp:",
};
test.for(LASTING)('a permanent fault while reading: %s', async (fault) => {
  const { fetch } = fakeFile(whole, { fault: (number) => (number === 3 ? fault : undefined) });
  const source = await open(fetch);
  expect(await failureOf(convert(source, SCATTERED))).toMatch(SENTENCES[fault]!);
  // A file that has changed has no state, so that nothing is resumed.
  expect(source.state === undefined).toBe(SENTENCES[fault] === CHANGED);
});

const SEEDS = byScope({ short: 40, full: 200, long: 2000 });

test(`a server that fails at random: ${SEEDS} seeds`, { timeout: 600_000 }, async () => {
  const kinds = Object.keys(FAULTS) as Fault[];
  const ends = { right: 0, failed: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const next = random(seed * 7919);
    vi.mocked(Math.random).mockImplementation(random(seed));
    // Half of the servers have only temporary faults.
    const choice = seed % 2 === 0 ? PASSING : kinds;
    const share = next() * 0.3;
    const fault = () => (next() < share ? choice[Math.floor(next() * choice.length)] : undefined);
    const before = () => new Promise((resolve) => setTimeout(resolve, next() * 200));
    const { fetch } = fakeFile(whole, { fault, before });
    let isRight = false;
    const reason = await failureOf(
      open(fetch).then(async (source) => {
        isRight = await convert(source, SCATTERED);
      }),
    );
    if (choice === PASSING) expect(reason, `seed ${seed}`).toBe('nothing failed');
    expect(isRight, `seed ${seed}: ${reason}`).toBe(reason === 'nothing failed');
    ends[isRight ? 'right' : 'failed'] += 1;
  }
  expect(ends.right).toBeGreaterThan(SEEDS / 2);
  expect(ends.failed).toBeGreaterThan(0);
});

test(
  `ranges that overlap, given up and forgotten, from a server that fails: ${SEEDS} seeds`,
  { timeout: 600_000 },
  async () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const next = random(seed * 31 + 5);
      const below = (most: number) => Math.floor(next() * most);
      const fault = () => (next() < 0.1 ? PASSING[below(PASSING.length)] : undefined);
      const before = () => new Promise((resolve) => setTimeout(resolve, below(100)));
      const source = await open(fakeFile(whole, { fault, before }).fetch);
      const some = () => {
        const length = 1 + below(next() < 0.1 ? 3 * MIB : 50_000);
        return { offset: below(whole.length - length), length };
      };
      const ranges = Array.from({ length: 30 }, some);
      // The same range twice counts as two ranges.
      ranges.push(...ranges.slice(0, 5));
      source.expect(ranges.slice(0, 25));
      const check = async (range: Range, at: number) => {
        const ending = new AbortController();
        const isGivenUp = next() < 0.1;
        if (isGivenUp) setTimeout(() => ending.abort(), below(500));
        if (at === 15 && next() < 0.3) source.expect([]);
        const bytes = await source.read(range.offset, range.length, { signal: ending.signal }).catch((thrown) => {
          if (!isGivenUp) throw thrown;
          return undefined;
        });
        if (bytes) expect(isRight(range, bytes), `seed ${seed}`).toBe(true);
      };
      await Promise.all(ranges.map(check));
    }
  },
);

test('a silent server is asked again after the time-out, until patience ends', async () => {
  const { fetch, asked } = fakeFile(whole, { fault: (number) => (number > 0 ? 'silent' : undefined) });
  const source = await open(fetch, { timeout: 10, patience: 100 });
  const begin = performance.now();
  expect(await failureOf(read(source, FEW))).toBe('no byte came for 10 seconds');
  // Eight times ten seconds, with waits of 0.25, 0.5, 1, 2, 4, 8 and 15; another 15 would end after 110 seconds.
  expect(performance.now() - begin).toBe(110_750);
  expect(asked).toHaveLength(9);
});

test.for([
  [1, 3, 'the server answered 503 Service Unavailable'],
  [600, 30, 'nothing failed'],
] as const)('a busy server: a patience of %d seconds, %d refusals', async ([patience, refusals, expected]) => {
  const { fetch } = fakeFile(whole, {
    fault: (number) => (number > 0 && number <= refusals ? 'status 503' : undefined),
  });
  const source = await open(fetch, { patience });
  expect(await failureOf(read(source, FEW))).toBe(expected);
});

test('the silence of a server is reported while it lasts', async () => {
  const silences: (number | undefined)[] = [];
  const { fetch } = fakeFile(whole, {
    fault: (number) => {
      if (number > 0) silences.push(source?.network.silence);
      return number > 0 && number < 4 ? 'status 503' : undefined;
    },
  });
  const source: HttpSource | undefined = await open(fetch);
  await read(source, FEW);
  expect(silences).toEqual([0, 0.25, 0.75, 1.75]);
  expect(source.network).toMatchObject({ silence: 0, retries: 3 });
});

test('received bytes of a broken response are not requested again', async () => {
  const { fetch, asked } = fakeFile(whole, { fault: (number) => (number === 1 ? 'cut' : undefined) });
  const source = await open(fetch);
  await read(source, { offset: MIB, length: 1000 });
  expect(asked.slice(1).map(({ range }) => range)).toEqual([
    `bytes=${MIB}-${MIB + 999}`,
    `bytes=${MIB + 500}-${MIB + 999}`,
  ]);
  expect(source.network).toMatchObject({ received: HEAD + 1000, retries: 1 });
});

test.for([404, 400, 503])('a URL that redirects to another mirror each time, until one answers %d', async (status) => {
  const served = { first: 0, second: 0 };
  let redirects = 0;
  const { fetch } = fakeFile(whole, {
    answer: (asked) => {
      const { hostname } = asked.url;
      if (hostname !== 'first' && hostname !== 'second') {
        redirects += 1;
        return { status: 302, headers: { Location: redirects === 1 ? 'https://first/' : 'https://second/' } };
      }
      served[hostname] += 1;
      return hostname === 'first' && served.first > 2 ? { status } : undefined;
    },
  });
  expect(await convert(await open(fetch), SCATTERED)).toBe(true);
  expect(served.second).toBeGreaterThan(2);
  expect(redirects).toBeLessThan(served.first + served.second);
});

test('tokens that expire: a fresh one for each request, or an error', async () => {
  const LIFE = 300;
  const age = () => Math.floor(Date.now() / LIFE);
  const tokenOf = (age: number) => `Bearer ${age}`;
  const { fetch } = fakeFile(whole, {
    answer: ({ headers }) => {
      const isGood = [age(), age() - 1].map(tokenOf).includes(String(headers.authorization));
      return isGood ? undefined : { status: 401 };
    },
    before: () => new Promise((resolve) => setTimeout(resolve, LIFE / 2)),
  });
  const now = () => ({ Authorization: tokenOf(age()) });
  expect(await convert(await open(fetch, { headers: now }), SCATTERED)).toBe(true);
  const sentence = 'the server answered 401 Unauthorized; it requires a user or a token';
  expect(await failureOf(convert(await open(fetch, { headers: now() }), SCATTERED))).toBe(sentence);
});

test('a headers function that fails sometimes, while the file is read', async () => {
  let calls = 0;
  const headers = async () => {
    calls += 1;
    if (calls % 3 === 0) throw new TypeError('fetch failed');
    return { 'X-Token': 'fresh' };
  };
  const { fetch } = fakeFile(whole);
  expect(await convert(await open(fetch, { headers }), SCATTERED)).toBe(true);
});

test('a server that refuses requests gets fewer at once', async () => {
  let underWay = 0;
  let refused = 0;
  const { fetch } = fakeFile(whole, {
    before: async () => {
      underWay += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    },
    answer: () => {
      underWay -= 1;
      if (underWay === 0) return undefined;
      refused += 1;
      return { status: 503 };
    },
  });
  expect(await convert(await open(fetch), SCATTERED)).toBe(true);
  expect(refused).toBeLessThan(20);
});

test.for([
  'silent',
  'drop',
  '429, wait',
  'stall',
] as const)('an overloaded server (%s) gets fewer requests at once', async (fault) => {
  let underWay = 0;
  const counts: number[] = [];
  const { fetch } = fakeFile(whole, {
    before: async () => {
      underWay += 1;
      counts.push(underWay);
      await new Promise((resolve) => setTimeout(resolve, 50));
      underWay -= 1;
    },
    // The first four requests for ranges fail once.
    fault: (number) => (number >= 1 && number <= 4 ? fault : undefined),
  });
  expect(await convert(await open(fetch), SCATTERED)).toBe(true);
  // The first one, four at once, the same four again, then fewer.
  expect(counts.slice(1, 9)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
  expect(Math.max(...counts.slice(9))).toBeLessThan(4);
});

test('files that share a limit send few requests at once to one server', async () => {
  const limit = new RequestLimit();
  let [underWay, most] = [0, 0];
  const { fetch } = fakeFile(whole, {
    before: async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 50));
      underWay -= 1;
    },
  });
  const opened = ['a', 'b', 'c', 'd'].map((name) => openHttp(NODE, `https://one/${name}`, { fetch, limit }));
  const sources = (await Promise.all(opened)) as HttpSource[];
  expect(await Promise.all(sources.map((source) => convert(source, SCATTERED)))).toEqual(Array(4).fill(true));
  expect(most).toBe(6);
});

/** A file that is changed when `when` returns `true`: its ETag differs then. */
const changing = (when: (number: number) => boolean) => {
  let isChanged = false;
  return fakeFile(whole, {
    answer: (asked, number) => {
      isChanged ||= when(number);
      return isChanged ? replyOf(whole, asked, 'another ETag') : undefined;
    },
  });
};

test('a change during the last responses is detected at the end', async () => {
  let isChanged = false;
  const source = await open(changing(() => isChanged).fetch);
  for (const range of SCATTERED) await read(source, range);
  await verify(source);
  expect(source.state).toBeDefined();
  isChanged = true;
  expect(await failureOf(verify(source))).toBe(CHANGED);
  expect(source.state).toBeUndefined();
});

test.for([
  ['a weak ETag', { ETag: 'W/"1"' }, { ETag: 'W/"2"' }],
  [
    'a weak ETag, at one time',
    { ETag: 'W/"1"', 'Last-Modified': 'Monday' },
    { ETag: 'W/"2"', 'Last-Modified': 'Monday' },
  ],
  ['a time', { ETag: 'W/"1"', 'Last-Modified': 'Monday' }, { ETag: 'W/"1"', 'Last-Modified': 'Tuesday' }],
])('a different validator proves a change: %s', async ([, before, after]) => {
  const { fetch } = fakeFile(whole, {
    answer: (asked, number) => {
      const reply = replyOf(whole, asked);
      return { ...reply, headers: { ...reply.headers, ETag: '', ...((number < 6 ? before : after) as object) } };
    },
  });
  expect(await failureOf(convert(await open(fetch), SCATTERED))).toBe(CHANGED);
});

test('mirrors behind one URL, with different ETags', async () => {
  const mirrors = (asked: Asked, number: number): Reply => {
    const reply = replyOf(whole, asked);
    return { ...reply, headers: { ...reply.headers, ETag: `"${number % 2}"` } };
  };
  const source = await open(fakeFile(whole, { answer: mirrors }).fetch);
  expect(await failureOf(read(source, FEW))).toBe(ALTERNATING);
});

test('mirrors behind redirects, with different ETags', async () => {
  let redirects = 0;
  const { fetch } = fakeFile(whole, {
    answer: (asked, number) => {
      const { hostname } = asked.url;
      if (hostname.startsWith('host')) {
        redirects += 1;
        return { status: 302, headers: { Location: redirects === 1 ? 'https://first/' : 'https://second/' } };
      }
      if (hostname === 'first' && number > 3) return { status: 404 };
      const reply = replyOf(whole, asked);
      return { ...reply, headers: { ...reply.headers, ETag: `"${hostname}"` } };
    },
  });
  expect(await failureOf(convert(await open(fetch), SCATTERED))).toMatch(
    /^the servers of this address \(first, second\) send different ETags or times for the file, .*; give the address of one/,
  );
});

test('a URL that has expired at the end: the file is unverified', async () => {
  let hasExpired = false;
  const { fetch } = fakeFile(whole, { answer: () => (hasExpired ? { status: 403 } : undefined) });
  const source = await open(fetch);
  await read(source, FEW);
  expect(source.unnoticed).toBeUndefined();
  hasExpired = true;
  await verify(source);
  expect(source.unnoticed).toMatch(
    /^https:\/\/host\d+ could not confirm at the end that the file has not changed \(the server answered 403 Forbidden; .*\), so a change may go unnoticed$/,
  );
  expect(source.state).toBeDefined();
  // The next conversion asks again.
  hasExpired = false;
  await verify(source);
  expect(source.unnoticed).toBeUndefined();
});

test.for([
  ['after one retry', {}, 90, 95],
  ['when the patience of the caller ends', { patience: 600 }, 600, 720],
] as const)('a byte now and then counts as silence, and fails %s', async ([, options, least, most]) => {
  const drip = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 2000));
        controller.enqueue(new Uint8Array(1));
      },
    });
  const { fetch: ask, asked } = fakeFile(whole);
  const fetch: typeof ask = async (url, init) => {
    const response = await ask(url, init);
    return asked.length === 1 ? response : new Response(drip(), response);
  };
  const source = await open(fetch, options);
  const begin = performance.now();
  expect(await failureOf(read(source, { offset: MIB, length: 100_000 }))).toMatch(
    /^only \d+ bytes came in 30 seconds$/,
  );
  const seconds = (performance.now() - begin) / 1000;
  expect(seconds).toBeGreaterThan(least);
  expect(seconds).toBeLessThan(most);
  expect(source.network.received).toBeGreaterThan(HEAD);
});

test.for([
  ['states no validator', { ETag: '' }, whole, 1],
  ['has a weak validator', { ETag: 'W/"weak"' }, whole, 2],
  ['has an empty file', { ETag: '"a"' }, whole.subarray(0, 0), 1],
  ['states a validator', { ETag: '"a"' }, whole, 2],
] as const)('at the end, a server that %s: %i requests', async ([, headers, content, requests]) => {
  const { fetch, asked } = fakeFile(content, {
    answer: (asked) => {
      const reply = replyOf(content, asked);
      return { ...reply, headers: { ...reply.headers, ...headers } };
    },
  });
  const source = await open(fetch);
  await verify(source);
  expect(asked).toHaveLength(requests);
});

/** A file whose server answers only the first request, and the cancelled requests. */
function held(content: Uint8Array = whole) {
  const given: AbortSignal[] = [];
  const { fetch, asked } = fakeFile(content, { fault: (number) => (number > 0 ? 'silent' : undefined) });
  const watching: typeof fetch = (input, init) => {
    given.push(init!.signal!);
    return fetch(input, init);
  };
  return { fetch: watching, asked, aborted: () => given.slice(1).map(({ aborted }) => aborted) };
}

test('a cancelled read ends its request, unless another read needs it', async () => {
  vi.useRealTimers();
  const { fetch, aborted } = held();
  const source = await open(fetch);
  const [first, second] = [new AbortController(), new AbortController()];
  const reads = [first, second].map(({ signal }) => failureOf(source.read(MIB, 1000, { signal })));
  await expect.poll(aborted, { interval: 1 }).toEqual([false, false]);
  first.abort();
  expect(await reads[0]).toBe('cancelled: The operation was cancelled');
  expect(aborted()).toEqual([true, false]);
  second.abort();
  await Promise.all(reads);
  expect(aborted()).toEqual([true, true]);
});

test('announced ranges are fetched early, and dropped when they are cancelled', async () => {
  vi.useRealTimers();
  const { fetch, asked, aborted } = held();
  const source = await open(fetch);
  source.expect([
    // The head includes it.
    { offset: 0, length: HEAD },
    { offset: MIB, length: 4 * MIB },
    { offset: 5 * MIB, length: MIB },
  ]);
  await expect.poll(() => asked.length, { interval: 1 }).toBe(2);
  expect(asked[1]!.range).toBe(`bytes=${MIB}-${5 * MIB - 1}`);
  source.expect([]);
  expect(aborted()).toEqual([true]);
});

test('the rest of a long range is fetched by further requests at the same time', async () => {
  vi.useRealTimers();
  const { fetch, asked } = held(new Uint8Array(40 * MIB));
  const source = await open(fetch);
  source.expect(Array.from({ length: 300 }, (_, at) => ({ offset: MIB + 1000 + at * 131_072, length: 65_536 })));
  await expect.poll(() => asked.length, { interval: 1 }).toBe(5);
  source.expect([]);
  const starts = asked.slice(1).map((asked) => rangeOf(asked)!.start);
  expect(starts).toEqual([1, 5, 9, 13].map((start) => start * MIB + 1000));
});

test('each announced range is read once; another read fetches it again', async () => {
  const { fetch, asked } = fakeFile(whole);
  const source = await open(fetch);
  const [far, near] = [
    { offset: 2 * MIB, length: 1000 },
    { offset: 4 * MIB, length: 1000 },
  ];
  source.expect([far, near]);
  for (const range of [near, far, far]) expect(isRight(range, await read(source, range))).toBe(true);
  // A read whose length was not announced.
  await read(source, { ...far, length: 500 });
  expect(asked.slice(1).map(({ range }) => rangeOf({ range })?.start)).toEqual([
    far.offset,
    near.offset,
    far.offset,
    far.offset,
  ]);
});

test('an announced range that failed is fetched again when it is read', async () => {
  const { fetch } = fakeFile(whole, { fault: (number) => (number === 1 ? 'status 404' : undefined) });
  const source = await open(fetch);
  const range = { offset: MIB, length: 4 * MIB };
  source.expect([range]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(isRight(range, await read(source, range))).toBe(true);
});
