// Loans over real ports: the test is the coordinator.

import { afterEach, expect, test } from 'vitest';
import { DecantError } from '../errors/errors.js';
import type { SourceReply, SourceRequest } from '../messages/messages.js';
import type { Source } from '../public/types.js';
import { CustomLoan } from './custom-sources.js';
import { StreamReader } from './custom-stream.js';

let loan: CustomLoan | undefined;
let ports: MessagePort[] = [];
afterEach(() => {
  loan?.end();
  for (const port of ports) port.close();
  ports = [];
});

/** A coordinator on `port`: sends requests and receives the replies. */
function coordinator(port: MessagePort) {
  ports.push(port);
  const waiting = new Map<number, (answer: SourceReply) => void>();
  port.onmessage = ({ data }) => {
    const answer = data as SourceReply;
    waiting.get(answer.id)?.(answer);
  };
  const post = (asked: SourceRequest) => port.postMessage(asked);
  let last = 0;
  const ask = (offset: number, length: number): Promise<SourceReply> => {
    last += 1;
    const id = last;
    const answered = new Promise<SourceReply>((resolve) => waiting.set(id, resolve));
    post({ id, offset, length });
    return answered;
  };
  return {
    post,
    async read(offset: number, length: number): Promise<string | number[]> {
      const answer = await ask(offset, length);
      return 'bytes' in answer ? [...answer.bytes] : `${answer.error.kind}: ${answer.error.message}`;
    },
    /** The error of a failed read, as a coordinator passes it on. */
    async failed(): Promise<DecantError> {
      const answer = await ask(0, 1);
      if ('bytes' in answer) throw new Error('nothing has failed');
      const { kind, message, code, fields } = answer.error;
      return new DecantError(kind, `In 'base': ${message}`, { code, fields });
    },
  };
}

function lend(source: Source): ReturnType<typeof coordinator> {
  loan = new CustomLoan();
  return coordinator(loan.lend(source));
}

/** A source with `content`, whose arrays `cut` makes. */
const sourceOf = (content: Uint8Array, cut: (offset: number, length: number) => Uint8Array): Source => ({
  size: content.length,
  read: async (offset, length) => cut(offset, length),
});

const CONTENT = [1, 2, 3, 4, 5];
/** The interval of polling, in milliseconds. */
const AT_ONCE = { interval: 1 };

test('an array that covers its buffer is transferred', async () => {
  const given: Uint8Array[] = [];
  const content = Uint8Array.from(CONTENT);
  const source = sourceOf(content, (offset, length) => {
    const part = content.slice(offset, offset + length);
    given.push(part);
    return part;
  });
  expect(await lend(source).read(1, 3)).toEqual([2, 3, 4]);
  expect(given[0]!.length).toBe(0);
});

test.for([
  ['a part of a buffer', () => new Uint8Array(8)],
  ['memory that is shared', () => new Uint8Array(new SharedArrayBuffer(5))],
  ['memory of an instance', () => new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer)],
] as const)('%s is copied, and stays intact', async ([, make]) => {
  const content = make();
  content.set(CONTENT);
  const { read } = lend(sourceOf(content, (offset, length) => content.subarray(offset, offset + length)));
  expect(await read(1, 3)).toEqual([2, 3, 4]);
  expect(await read(0, 5)).toEqual(CONTENT);
  expect([...content.subarray(0, 5)]).toEqual(CONTENT);
});

test('the whole memory of an instance cannot be transferred, and is copied', async () => {
  const memory = new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer);
  memory.set(CONTENT);
  const { read } = lend(sourceOf(memory, () => memory));
  expect(((await read(0, memory.length)) as number[]).slice(0, 5)).toEqual(CONTENT);
  expect([...memory.subarray(0, 5)]).toEqual(CONTENT);
});

test('reads at once, answered in any order', async () => {
  const held: (() => void)[] = [];
  const source: Source = {
    size: 100,
    read: (offset, length) => new Promise((resolve) => held.push(() => resolve(new Uint8Array(length).fill(offset)))),
  };
  const { read } = lend(source);
  const reads = [10, 20, 30].map((offset) => read(offset, 2));
  await expect.poll(() => held.length, AT_ONCE).toBe(3);
  for (const go of held.reverse()) go();
  expect(await Promise.all(reads)).toEqual([
    [10, 10],
    [20, 20],
    [30, 30],
  ]);
});

test('only a cancelled read is aborted', async () => {
  const signals: AbortSignal[] = [];
  const source: Source = {
    size: 100,
    read: (_, __, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
  };
  const { read, post } = lend(source);
  const reads = [read(0, 1), read(1, 1)];
  await expect.poll(() => signals.length, AT_ONCE).toBe(2);
  post({ givenUp: 1 });
  expect(await reads[0]).toMatch(/^cancelled: /);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test('a cancelled loan cancels current and later reads', async () => {
  const signals: AbortSignal[] = [];
  const told: unknown[] = [];
  const source: Source = {
    size: 100,
    expect: (ranges) => told.push(ranges),
    read: (_, __, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
  };
  const { read, post } = lend(source);
  post({ reader: 1, expected: Float64Array.of(1, 2, 3, 4) });
  const reading = read(0, 1);
  await expect.poll(() => signals.length, AT_ONCE).toBe(1);
  loan!.cancel();
  expect(await reading).toMatch(/^cancelled: /);
  expect(signals[0]!.aborted).toBe(true);
  post({ reader: 1, expected: Float64Array.of(5, 6) });
  expect(await read(0, 1)).toMatch(/^cancelled: /);
  expect(signals).toHaveLength(1);
  const expected = [
    { offset: 1, length: 2 },
    { offset: 3, length: 4 },
  ];
  expect(told).toEqual([expected, []]);
});

test('finished reads are not cancelled at the end of their reader', async () => {
  const told: unknown[] = [];
  const read = async (offset: number, length: number) => Uint8Array.from(CONTENT.slice(offset, offset + length));
  const { read: ask, post } = lend({ size: CONTENT.length, read, expect: (ranges) => told.push(ranges) });
  post({ reader: 1, expected: Float64Array.of(0, 1) });
  post({ reader: 2, expected: Float64Array.of(2, 1) });
  await ask(0, 1);
  post({ reader: 1, expected: new Float64Array() });
  await ask(2, 1);
  post({ reader: 2, expected: new Float64Array() });
  await expect.poll(() => told, AT_ONCE).toEqual([[{ offset: 0, length: 1 }], [{ offset: 2, length: 1 }], []]);
});

test('a stream is read in order, and may return fewer bytes', async () => {
  loan = new CustomLoan();
  const stream = new Blob([Uint8Array.from(CONTENT)]).stream();
  const { read } = coordinator(loan.lendStream(new StreamReader(stream)));
  expect(await read(0, 3)).toEqual([1, 2, 3]);
  expect(await read(3, 10)).toEqual([4, 5]);
  expect(await read(0, 1)).toMatch(/^usage: /);
});

test('an error gets the cause that stayed on this side', async () => {
  const thrown = [1, 2].map((number) => Object.assign(new Error('gone'), { number }));
  const failures = [...thrown];
  const { failed } = lend({ size: 100, read: () => Promise.reject(failures.shift()) });
  const errors = [await failed(), await failed()];
  for (const [at, error] of errors.entries()) {
    const told = loan!.explain(error);
    expect(told).toMatchObject({ kind: 'source', message: error.message, fields: {}, cause: thrown[at] });
    expect(Object.keys(told.fields)).toEqual([]);
  }
});

test('another error is unchanged, even with the same message', async () => {
  const { failed } = lend({ size: 100, read: () => Promise.reject(new Error('gone')) });
  const { kind, message } = await failed();
  const error = new DecantError(kind, message);
  expect(loan!.explain(error)).toBe(error);
});

test('sixteen failures are kept', async () => {
  let count = 0;
  const { failed } = lend({ size: 100, read: () => Promise.reject(new Error(`failure ${count++}`)) });
  const errors: DecantError[] = [];
  for (let reads = 0; reads < 17; reads += 1) errors.push(await failed());
  const causes = errors.map((error) => loan!.explain(error).cause);
  expect(causes[0]).toBeUndefined();
  expect(causes[1]).toMatchObject({ message: 'failure 1' });
  expect(causes[16]).toMatchObject({ message: 'failure 16' });
});

test('an image that cannot be read in order names the server that sends only whole files', () => {
  const network = { received: 0, sent: 0, retries: 0 };
  const lent = new CustomLoan();
  lent.lendStream(new StreamReader(new ReadableStream(), { shown: 'http://host/disk', network }));
  const told = lent.explain(new DecantError('unsupported', 'Save it first'));
  lent.end();
  for (const port of lent.ports) port.close();
  expect(told.message).toBe(
    "Could not open 'http://host/disk': its server sends only whole files, from start to end. Save it first",
  );
});
