// The replies of a server of one file to requests for ranges, and the faults that they may have: for the server of
// remote.ts, and as a `fetch` that needs no server.

import { STATUS_CODES } from 'node:http';

/** The end of a request; without a status, there is no answer. */
export interface Reply {
  status?: number;
  headers?: Record<string, string | number>;
  body?: Uint8Array;
  /** How it ends, where it does not as it should. */
  end?: 'broken' | 'silent';
}

/** Wrong results of a custom `fetch`. */
export const NOT_RESPONSES: readonly unknown[] = [
  null,
  undefined,
  7,
  'text',
  {},
  { status: 200 },
  { status: '200', headers: new Headers() },
  { status: 200, headers: {} },
  // As of node-fetch.
  { status: 200, headers: new Headers(), body: { on() {} } },
  new (class {
    get status() {
      throw new TypeError('no status');
    }
  })(),
];

/** The part of the file that was asked for. */
export interface Part {
  whole: Uint8Array;
  /** Where it was asked for. */
  url: URL;
  start: number;
  bytes: Uint8Array;
  head: { ETag: string; 'Content-Range': string; 'Content-Length': number };
}

const half = ({ bytes }: Part): Uint8Array => bytes.subarray(0, bytes.length >> 1);

const rangeHead = ({ whole, bytes }: Part, start: number, size = whole.length) =>
  `bytes ${start}-${start + bytes.length - 1}/${size}`;

/** The faults that pass when a request is made again. */
const PASSING_FAULTS = {
  drop: () => ({ end: 'broken' }),
  silent: () => ({ end: 'silent' }),
  'status 503': () => ({ status: 503 }),
  '429, wait': () => ({ status: 429, headers: { 'Retry-After': '0' } }),
  '429, until': () => ({ status: 429, headers: { 'Retry-After': new Date(0).toUTCString() } }),
  'status 408': () => ({ status: 408 }),
  cut: (part) => ({ status: 206, headers: part.head, body: half(part), end: 'broken' }),
  stall: (part) => ({ status: 206, headers: part.head, body: half(part), end: 'silent' }),
  'fewer, as it says': ({ whole, bytes, start, head }) => {
    const body = bytes.subarray(0, Math.max(1, bytes.length >> 1));
    const range = `bytes ${start}-${start + body.length - 1}/${whole.length}`;
    return { status: 206, headers: { ...head, 'Content-Range': range, 'Content-Length': body.length }, body };
  },
  redirect: ({ url }) => ({ status: 302, headers: { Location: `${url}${url.search === '' ? '?' : '&'}again` } }),
  // Another name of this server, and so another origin.
  'redirect elsewhere': ({ url }) => {
    const other = new URL(url);
    other.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost';
    return { status: 302, headers: { Location: other.href } };
  },
} satisfies Record<string, (part: Part) => Reply>;

/** The faults of which nothing good can come. */
const LASTING_FAULTS = {
  'another range': (part) => {
    const headers = { ...part.head, 'Content-Range': rangeHead(part, part.start + 1) };
    return { status: 206, headers, body: part.bytes };
  },
  'no range': ({ bytes, head: { 'Content-Range': _, ...headers } }) => ({ status: 206, headers, body: bytes }),
  'another size': (part) => {
    const headers = { ...part.head, 'Content-Range': rangeHead(part, part.start, part.whole.length + 1) };
    return { status: 206, headers, body: part.bytes };
  },
  more: ({ bytes, head: { 'Content-Length': _, ...headers } }) => {
    return { status: 206, headers, body: Buffer.concat([bytes, Buffer.from('more')]) };
  },
  whole: ({ whole, head: { ETag } }) => {
    return { status: 200, headers: { ETag, 'Content-Length': whole.length }, body: whole };
  },
  'another ETag': ({ bytes, head }) => ({ status: 206, headers: { ...head, ETag: '"later"' }, body: bytes }),
  'several parts': ({ bytes, head }) => {
    const headers = { ...head, 'Content-Type': 'multipart/byteranges; boundary=x' };
    return { status: 206, headers, body: bytes };
  },
  encoded: ({ bytes, head }) => ({ status: 206, headers: { ...head, 'Content-Encoding': 'x-other' }, body: bytes }),
  'status 404': () => ({ status: 404 }),
  'status 403': () => ({ status: 403 }),
  'status 416': ({ whole }) => ({ status: 416, headers: { 'Content-Range': `bytes */${whole.length - 1}` } }),
  'redirect to nowhere': () => ({ status: 302, headers: { Location: 'ftp://elsewhere/' } }),
} satisfies Record<string, (part: Part) => Reply>;

export type Fault = keyof typeof PASSING_FAULTS | keyof typeof LASTING_FAULTS;
export const FAULTS: Record<Fault, (part: Part) => Reply> = { ...PASSING_FAULTS, ...LASTING_FAULTS };
export const PASSING = Object.keys(PASSING_FAULTS) as Fault[];
export const LASTING = Object.keys(LASTING_FAULTS) as Fault[];

/** A request. */
export interface Asked {
  method: string;
  range: string | undefined;
  url: URL;
  headers: Record<string, string | string[] | undefined>;
}

/** The range that is asked for, of a file of `size` bytes; `end` is the offset behind it. `undefined` if it is all. */
export function rangeOf({ range }: Pick<Asked, 'range'>, size = Number.POSITIVE_INFINITY) {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  return first === undefined ? undefined : { start: Number(first), end: Math.min(Number(last) + 1, size) };
}

/** The reply to a request for a range of `whole`, or for all of it. `fault` is what is wrong with that of a range. */
export function replyOf(whole: Uint8Array, asked: Asked, fault?: Fault): Reply {
  const range = rangeOf(asked, whole.length);
  if (!range) {
    const headers = { ETag: '"now"', 'Content-Length': whole.length };
    return { status: 200, headers, ...(asked.method === 'HEAD' ? {} : { body: whole }) };
  }
  const { start, end } = range;
  if (start >= whole.length) return { status: 416, headers: { 'Content-Range': `bytes */${whole.length}` } };
  const head = {
    ETag: '"now"',
    'Content-Range': `bytes ${start}-${end - 1}/${whole.length}`,
    'Content-Length': end - start,
  };
  const bytes = whole.subarray(start, end);
  return fault
    ? FAULTS[fault]({ whole, url: asked.url, start, bytes, head })
    : { status: 206, headers: head, body: bytes };
}

/** How many bytes of a body come at once. */
const PIECE = 100_000;

/** A `fetch` that asks nobody: `answer` says what comes of a request. */
export function fetchBy(answer: (asked: Asked) => Reply | Promise<Reply>): typeof fetch {
  const ask: typeof fetch = async (input, init = {}) => {
    const { signal, method = 'GET', redirect = 'follow' } = init;
    const headers = Object.fromEntries(new Headers(init.headers));
    const url = new URL(String(input));
    signal?.throwIfAborted();
    const reply = await answer({ method, url, range: headers.range, headers });
    if (reply.status === undefined) {
      if (reply.end === 'broken') throw new TypeError('fetch failed', { cause: new Error('other side closed') });
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    }
    const location = reply.headers?.Location;
    if (location !== undefined && redirect === 'error') throw new TypeError('unexpected redirect');
    if (location !== undefined && redirect === 'follow') return ask(new URL(String(location), url), init);
    return responseOf(reply, signal);
  };
  return ask;
}

/** `reply` as the client receives it. */
export function responseOf({ status = 200, headers = {}, body, end }: Reply, signal?: AbortSignal | null): Response {
  const named = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  const given = { status, statusText: STATUS_CODES[status] ?? '', headers: named };
  if (!body && !end) return new Response(null, given);
  const rest = body ?? new Uint8Array(0);
  let at = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => signal?.addEventListener('abort', () => controller.error(signal.reason)),
      pull(controller) {
        if (at < rest.length) {
          controller.enqueue(rest.slice(at, at + PIECE));
          at += PIECE;
          return undefined;
        }
        if (end === 'broken') controller.error(new TypeError('terminated'));
        else if (end === undefined) controller.close();
        return end === 'silent' ? new Promise(() => {}) : undefined;
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, given);
}

/** A file on a server that is a function. */
export interface FakeFile {
  fetch: typeof fetch;
  /** The requests so far. */
  asked: Asked[];
}

interface Options {
  /** The fault of the answer to a range request, by the number of the request. */
  fault?: (number: number) => Fault | undefined;
  /** Replies in another way. */
  answer?: (asked: Asked, number: number) => Reply | undefined;
  /** Resolves when a request may be answered. */
  before?: (asked: Asked, number: number) => Promise<unknown> | undefined;
}

/** `whole` at any address. */
export function fakeFile(
  whole: Uint8Array,
  { fault = () => undefined, answer = () => undefined, before = () => undefined }: Options = {},
): FakeFile {
  const asked: Asked[] = [];
  const fetch = fetchBy(async (request) => {
    const number = asked.push(request) - 1;
    await before(request, number);
    return answer(request, number) ?? replyOf(whole, request, fault(number));
  });
  return { fetch, asked };
}
