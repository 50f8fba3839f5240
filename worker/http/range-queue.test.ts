// A `FetchRange` waits until a test answers: checks the requests, how many at once, and who gets which bytes.

import { beforeEach, expect, test } from 'vitest';
import { random } from '../../e2e/support/random.js';
import { byScope } from '../../e2e/support/scope.js';
import { Pace } from './pace.js';
import { type FetchRange, RangeQueue } from './range-queue.js';
import type { ByteRange, WantedRange } from './ranges.js';
import { RequestSlots } from './request-limit.js';

const KIB = 1 << 10;
const MIB = 1 << 20;
/** The gap before anything was measured. */
const GAP = 64 * KIB;

/** The file: no two of its parts are the same. */
const file = Buffer.from(Uint32Array.from({ length: 14 * MIB }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);

const contentOf = ({ start, end }: ByteRange) => file.subarray(start, end);

interface Request {
  range: ByteRange;
  signal: AbortSignal;
  /** Brings the next `length` bytes, or all that are left. */
  bring(length?: number): void;
  /** Ends it; with `thrown`, it has failed. */
  end(thrown?: Error): void;
}

let requests: Request[];
let underWay: number;
let pace: Pace;
let host: RequestSlots;
let queue: RangeQueue;

const fetchRange: FetchRange = (range, take, signal) =>
  new Promise<void>((resolve, reject) => {
    underWay += 1;
    let at = range.start;
    const bring = (length = range.end - at) => {
      take(contentOf({ start: at, end: at + length }));
      at += length;
    };
    const end = (thrown?: Error) => {
      underWay -= 1;
      if (thrown) reject(thrown);
      else resolve();
    };
    requests.push({ range, signal, bring, end });
  });

beforeEach(() => {
  requests = [];
  underWay = 0;
  pace = new Pace();
  host = new RequestSlots();
  queue = new RangeQueue(fetchRange, pace, host);
});

const ranges = () => requests.map(({ range: { start, end } }) => [start, end]);
const range = (start: number, length: number): ByteRange => ({ start, end: start + length });
const lengthOf = ({ range: { start, end } }: Request) => end - start;
/** Runs the handlers of settled promises. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

async function isRight(wanted: WantedRange): Promise<boolean> {
  const { start, length } = wanted;
  return Buffer.compare(await wanted.complete, contentOf(range(start, length))) === 0;
}

test('fetch makes a request at once, for its range', async () => {
  const wanted = queue.fetch(range(1000, 500));
  expect(ranges()).toEqual([[1000, 1500]]);
  requests[0]!.bring(200);
  requests[0]!.bring(300);
  expect(await isRight(wanted)).toBe(true);
});

test('a large range is requested in parts of 4 MiB, up to the limit at once', async () => {
  const wanted = queue.fetch(range(100, 21 * MIB));
  expect(ranges()).toEqual([0, 1, 2, 3].map((part) => [100 + part * 4 * MIB, 100 + (part + 1) * 4 * MIB]));
  for (let at = 0; at < requests.length; at += 1) {
    requests[at]!.bring();
    requests[at]!.end();
    await settled();
    expect(underWay).toBeLessThanOrEqual(pace.limit);
  }
  expect(ranges().at(-1)).toEqual([100 + 20 * MIB, 100 + 21 * MIB]);
  expect(await isRight(wanted)).toBe(true);
});

test('an expected range waits until a request is worth it', () => {
  for (let at = 0; at < 3; at += 1) queue.expect(range(at * MIB, MIB));
  queue.start();
  expect(ranges()).toEqual([]);
  queue.expect(range(3 * MIB, MIB));
  queue.start();
  expect(ranges()).toEqual([[0, 4 * MIB]]);
});

test('an expected range far from the next is requested at once', () => {
  queue.expect(range(0, MIB));
  queue.expect(range(MIB + GAP + 1, MIB));
  queue.start();
  expect(ranges()).toEqual([[0, MIB]]);
});

test('a fetched range is not fetched again as a gap', () => {
  const table = range(MIB, 32 * KIB);
  queue.fetch(table);
  queue.expect(range(MIB - 32 * KIB, 32 * KIB));
  queue.expect(range(table.end, 32 * KIB));
  queue.expect(range(table.end + 64 * KIB, 4 * MIB));
  queue.start();
  expect(ranges()).toEqual([
    [table.start, table.end],
    [MIB - 32 * KIB, MIB],
    // Unfetched bytes are a gap.
    [table.end, table.end + 4 * MIB],
  ]);
});

test('a few bytes are fetched twice rather than by another request', () => {
  queue.fetch(range(MIB, 4 * KIB));
  queue.expect(range(0, MIB));
  queue.expect(range(MIB + 4 * KIB, 4 * MIB));
  queue.start();
  expect(ranges()).toEqual([
    [MIB, MIB + 4 * KIB],
    [0, 4 * MIB],
  ]);
});

test('an awaited range does not wait for more ranges', () => {
  const first = queue.expect(range(0, MIB));
  queue.expect(range(MIB, MIB));
  first.isAwaited = true;
  queue.start();
  expect(ranges()).toEqual([[0, 2 * MIB]]);
});

test.for([
  ['behind it', 2 * MIB, [0, 3 * MIB]],
  ['before it', 0, [0, 3 * MIB]],
  ['in between', MIB, [0, 3 * MIB]],
] as const)('expected neighbours are fetched with an awaited range: %s', ([, fetched, expected]) => {
  for (const start of [0, MIB, 2 * MIB]) if (start !== fetched) queue.expect(range(start, MIB));
  queue.fetch(range(fetched, MIB));
  expect(ranges()).toEqual([expected]);
});

test.for([
  ['a gap that is worth a request', MIB, GAP, true],
  ['a wider gap', MIB, GAP + 1, false],
  ['a gap that is as long as what is wanted before it', 1000, 1000, true],
  ['a gap that is longer', 1000, 1001, false],
] as const)('%s', ([, length, gap, isJoined]) => {
  queue.expect(range(length + gap, 10));
  queue.fetch(range(0, length));
  expect(ranges()[0]).toEqual([0, isJoined ? length + gap + 10 : length]);
});

test('gaps are together not longer than the wanted ranges', () => {
  queue.expect(range(2000, 1000));
  // 1000 bytes of a gap and 2000 that are wanted so far.
  queue.expect(range(4000, 1000));
  queue.expect(range(6001, 1000));
  queue.fetch(range(0, 1000));
  expect(ranges()[0]).toEqual([0, 5000]);
});

test('an earlier neighbour that would make a request too large waits for the next one', () => {
  queue.expect(range(0, 2 * MIB));
  queue.fetch(range(2 * MIB, 3 * MIB));
  expect(ranges()).toEqual([[2 * MIB, 5 * MIB]]);
});

test('an expected range that does not fit with the next is requested at once', () => {
  queue.expect(range(0, 4 * MIB - GAP));
  queue.expect(range(4 * MIB, MIB));
  queue.start();
  expect(ranges()).toEqual([[0, 4 * MIB - GAP]]);
});

test('a part of an expected range joins the next request', async () => {
  const first = queue.expect(range(0, 3 * MIB));
  const second = queue.expect(range(3 * MIB, 3 * MIB));
  queue.start();
  expect(ranges()).toEqual([[0, 4 * MIB]]);
  second.isAwaited = true;
  queue.start();
  expect(ranges()).toEqual([
    [0, 4 * MIB],
    [4 * MIB, 6 * MIB],
  ]);
  requests[1]!.bring();
  requests[0]!.bring();
  expect([await isRight(first), await isRight(second)]).toEqual([true, true]);
});

test('bytes of gaps are kept, and not fetched again', async () => {
  const around = [queue.expect(range(0, GAP)), queue.expect(range(2 * GAP, GAP))];
  for (const wanted of around) wanted.isAwaited = true;
  queue.start();
  requests[0]!.bring();
  requests[0]!.end();
  await settled();
  expect(await isRight(queue.fetch(range(GAP + 5, 100)))).toBe(true);
  const more = queue.fetch(range(GAP, 4 * GAP));
  expect(ranges()).toEqual([
    [0, 3 * GAP],
    [2 * GAP, 5 * GAP],
  ]);
  requests[1]!.bring();
  for (const wanted of [more, ...around]) expect(await isRight(wanted)).toBe(true);
});

test('ranges that overlap get their bytes from one request', async () => {
  const wanted = [range(0, 1000), range(500, 1000), range(0, 1000), range(200, 10)].map((range) => queue.expect(range));
  wanted.push(queue.fetch(range(100, 1200)));
  expect(ranges()).toEqual([[0, 1500]]);
  for (let brought = 0; brought < 1500; brought += 100) requests[0]!.bring(100);
  expect(await Promise.all(wanted.map(isRight))).toEqual(Array(5).fill(true));
});

test('fetched ranges come before expected ones, and those in order', async () => {
  pace.limit = 1;
  queue.fetch(range(50 * MIB, 10));
  const starts = [30, 10, 20].map((start) => start * MIB);
  for (const start of starts) queue.expect(range(start, 4 * MIB));
  queue.fetch(range(40 * MIB, 10));
  for (let at = 0; at < requests.length; at += 1) {
    requests[at]!.bring();
    requests[at]!.end();
    await settled();
  }
  expect(ranges().map(([start]) => start! / MIB)).toEqual([50, 40, 30, 10, 20]);
});

test('no more requests at once than the pace allows, also when it changes', async () => {
  for (let at = 0; at < 12; at += 1) queue.fetch(range(at * 4 * MIB, 4 * MIB));
  expect(underWay).toBe(4);
  pace.limit = 1;
  for (let at = 0; at < 3; at += 1) {
    requests[at]!.end();
    await settled();
  }
  expect(requests).toHaveLength(4);
  requests[3]!.end();
  await settled();
  expect(requests).toHaveLength(5);
  pace.limit = 6;
  queue.start();
  expect(underWay).toBe(6);
});

test('no more requests at once than the slots of the host, over all queues', async () => {
  const other = new RangeQueue(fetchRange, new Pace(), host);
  for (const one of [queue, other]) for (let at = 0; at < 6; at += 1) one.fetch(range(at * 4 * MIB, 4 * MIB));
  expect(underWay).toBe(6);
  // The other queue has waited for the room that the first one leaves.
  requests[0]!.end();
  await settled();
  expect(underWay).toBe(6);
  expect(ranges().slice(4)).toEqual([
    [0, 4 * MIB],
    [4 * MIB, 8 * MIB],
    [8 * MIB, 12 * MIB],
  ]);
});

test('a dropped range is not requested', () => {
  const [first, second] = [queue.expect(range(0, MIB)), queue.expect(range(MIB, MIB))];
  queue.drop(first!);
  queue.fetch(range(2 * MIB, MIB));
  expect(ranges()).toEqual([[MIB, 3 * MIB]]);
  expect([first!.isDropped, second!.isDropped]).toEqual([true, false]);
});

test('a request is aborted when all its parts are dropped', async () => {
  const [first, second] = [queue.expect(range(0, MIB)), queue.fetch(range(MIB, MIB))];
  const { signal } = requests[0]!;
  queue.drop(second);
  expect(signal.aborted).toBe(false);
  queue.drop(first);
  expect(signal.aborted).toBe(true);
  requests[0]!.end(new Error('given up'));
  await settled();
  queue.fetch(range(0, 10));
  expect(requests).toHaveLength(2);
});

test('a failed request fails only its incomplete ranges', async () => {
  const wanted = [0, 1, 2].map((at) => queue.expect(range(at * MIB, MIB)));
  wanted.push(queue.fetch(range(3 * MIB, MIB)));
  requests[0]!.bring(1.5 * MIB);
  requests[0]!.end(new Error('broken'));
  expect(await isRight(wanted[0]!)).toBe(true);
  expect(wanted.map(({ isDropped }) => isDropped)).toEqual([false, true, true, true]);
  for (const lost of wanted.slice(1)) await expect(lost.complete).rejects.toThrow('broken');
});

test('a range that failed in part is not requested any more', async () => {
  pace.limit = 1;
  const large = queue.fetch(range(0, 8 * MIB));
  const small = queue.fetch(range(20 * MIB, 10));
  requests[0]!.end(new Error('broken'));
  await settled();
  expect(ranges()).toEqual([
    [0, 4 * MIB],
    [20 * MIB, 20 * MIB + 10],
  ]);
  await expect(large.complete).rejects.toThrow('broken');
  requests[1]!.bring();
  expect(await isRight(small)).toBe(true);
});

const SEEDS = byScope({ short: 30, full: 100, long: 1000 });

test(`random ranges, expected, fetched and dropped: ${SEEDS} seeds`, { timeout: 600_000 }, async () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    requests = [];
    underWay = 0;
    pace = new Pace();
    queue = new RangeQueue(fetchRange, pace, new RequestSlots());
    const next = random(seed * 31 + 5);
    const below = (most: number) => Math.floor(next() * most);
    const wanted: WantedRange[] = [];
    for (let count = 0; count < 25; count += 1) {
      const some = range(below(20 * MIB), 1 + below(next() < 0.15 ? 6 * MIB : 100 * KIB));
      wanted.push(next() < 0.6 ? queue.expect(some) : queue.fetch(some));
      if (next() < 0.2) queue.drop(wanted[below(wanted.length)]!);
      if (next() < 0.1) pace.limit = 1 + below(6);
    }
    // At the end, somebody waits for all ranges.
    for (const one of wanted) one.isAwaited = true;
    queue.start();
    const ended = new Set<Request>();
    while (underWay > 0) {
      expect(underWay, `seed ${seed}`).toBeLessThanOrEqual(6);
      const open = requests.filter((request) => !ended.has(request));
      const request = open[below(open.length)]!;
      ended.add(request);
      request.bring(lengthOf(request) >> 1);
      request.bring();
      request.end();
      await settled();
    }
    const kept = wanted.filter(({ isDropped }) => !isDropped);
    expect(await Promise.all(kept.map(isRight)), `seed ${seed}`).toEqual(kept.map(() => true));
    for (const request of requests) expect(lengthOf(request), `seed ${seed}`).toBeLessThanOrEqual(4 * MIB);
  }
});
