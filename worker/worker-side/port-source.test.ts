// A custom source inside a coordinator: reads that are sent, wait or are cancelled.

import { afterEach, expect, test } from 'vitest';
import { soon } from '../errors/soon.test-support.js';
import type { SourceReply, SourceRequest } from '../messages/messages.js';
import { PortSource, ReadQueue } from './port-source.js';

let end = () => {};
afterEach(() => end());

/** A source of 1 MiB, and the requests to its calling side. */
function connect(expects = false) {
  const { port1, port2 } = new MessageChannel();
  const asked: SourceRequest[] = [];
  port1.onmessage = ({ data }) => asked.push(data as SourceRequest);
  end = () => port1.close();
  const answer = (answer: SourceReply) => port1.postMessage(answer);
  const give = ({ id, offset, length }: { id: number; offset: number; length: number }) =>
    answer({ id, bytes: new Uint8Array(length).fill(offset) });
  return { source: new PortSource(port2, 1 << 20, expects), asked, answer, give };
}
type Range = Extract<SourceRequest, { offset: number }>;
const ranges = (asked: SourceRequest[]) => asked.filter((it): it is Range => 'offset' in it);
const arrived = (asked: SourceRequest[], count: number) => soon(() => expect(asked).toHaveLength(count));

test('a read is answered by its number, in any order', async () => {
  const { source, asked, give } = connect();
  const reads = [1, 2, 3].map((offset) => source.fetch(offset, 2));
  await arrived(asked, 3);
  for (const range of ranges(asked).toReversed()) give(range);
  expect(await Promise.all(reads)).toEqual([1, 2, 3].map((byte) => Uint8Array.of(byte, byte)));
});

test('nothing is asked for nothing', async () => {
  const { source, asked } = connect();
  expect(await source.fetch(5, 0)).toEqual(new Uint8Array(0));
  await new Promise(setImmediate);
  expect(asked).toEqual([]);
});

test('eight reads are under way at once, and others follow in their order', async () => {
  const { source, asked, give } = connect();
  const reads = Array.from({ length: 11 }, (_, at) => source.fetch(at, 1));
  await arrived(asked, 8);
  for (let next = 0; next < 11; next += 1) {
    give(ranges(asked)[next]!);
    await arrived(asked, Math.min(9 + next, 11));
  }
  await Promise.all(reads);
  expect(ranges(asked).map(({ offset }) => offset)).toEqual([...Array(11).keys()]);
  expect(source.readsAtOnce).toBe(8);
});

test('users of one source do not wait for each other', async () => {
  const { source, asked, give } = connect();
  const [one, other] = [new ReadQueue(source), new ReadQueue(source)];
  for (let at = 0; at < 9; at += 1) one.fetch(at, 1).catch(() => {});
  const read = other.fetch(100, 1);
  await arrived(asked, 9);
  give(ranges(asked).find(({ offset }) => offset === 100)!);
  expect(await read).toEqual(Uint8Array.of(100));
});

test('a failure is that of the calling side', async () => {
  const { source, asked, answer } = connect();
  const read = source.fetch(1, 1);
  await arrived(asked, 1);
  answer({
    id: ranges(asked)[0]!.id,
    error: { kind: 'source', code: 'http-status', fields: { status: 410 }, message: 'gone' },
  });
  await expect(read).rejects.toMatchObject({
    name: 'DecantError',
    kind: 'source',
    code: 'http-status',
    fields: { status: 410 },
    message: 'gone',
  });
});

test('giving up a read cancels it on the calling side, or takes it out of the queue', async () => {
  const { source, asked, answer } = connect();
  const begun = Array.from({ length: 9 }, (_, at) => source.begin(at, 1));
  const reads = begun.map((range) => range.next());
  await arrived(asked, 8);
  const failed = expect(reads[8]).rejects.toMatchObject({ kind: 'cancelled' });
  begun[8]!.end();
  await failed;
  begun[0]!.end();
  await arrived(asked, 9);
  const { id } = ranges(asked)[0]!;
  expect(asked[8]).toEqual({ givenUp: id });
  const ended = expect(reads[0]).rejects.toMatchObject({ kind: 'cancelled' });
  answer({ id, error: { kind: 'cancelled', code: 'cancelled', fields: {}, message: 'Reading was cancelled' } });
  await ended;
  expect(ranges(asked)).toHaveLength(8);
});

test('announces reads, and then does not join them', async () => {
  const { source, asked } = connect(true);
  source.expect(7, Float64Array.of(0, 10, 20, 5));
  await arrived(asked, 1);
  expect(asked).toEqual([{ reader: 7, expected: Float64Array.of(0, 10, 20, 5) }]);
  expect([source.gap, source.minRead]).toEqual([4 << 10, Number.POSITIVE_INFINITY]);
  const { gap, minRead } = connect().source;
  expect([gap, minRead]).toEqual([256 << 10, 1 << 20]);
});
