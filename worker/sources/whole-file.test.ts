// Servers that send only whole files.

import { expect, test } from 'vitest';
import { type Reply, responseOf } from '../../e2e/support/replies.js';
import type { HttpExchange } from '../http/exchange.js';
import { TransientFailure } from '../http/http-failures.js';
import { Retries } from '../http/retries.js';
import { openSequential } from './custom-sources.js';
import { SequentialFile } from './custom-stream.js';
import { BufferedFile, receiveWhole, sequentialBody, unnoticedEnd } from './whole-file.js';

const MIB = 1 << 20;
const never = new AbortController().signal;

/** An exchange with the response `reply`, and whether it was ended. */
function exchangeOf(reply: Reply): HttpExchange & { isEnded: boolean } {
  const response = responseOf(reply);
  const reader = response.body?.getReader();
  const exchange = {
    response,
    secrets: [],
    url: new URL('https://host/'),
    server: 'the server',
    host: 'host',
    isEnded: false,
    next: async () => (await reader?.read())?.value,
    end() {
      exchange.isEnded = true;
    },
  };
  return exchange;
}

/** A response with `Content-Length: length`, if given, and a body of that length. */
const fileOf = (came: number, length: number | undefined, headers = {}): Reply => ({
  status: 200,
  headers: { ...(length === undefined ? {} : { 'Content-Length': length }), ...headers },
  body: new Uint8Array(came).fill(7),
});

async function received(reply: Reply): Promise<string> {
  try {
    const got = await receiveWhole(exchangeOf(reply), new Retries());
    return 'bytes' in got ? `${got.bytes.length} bytes` : `head: ${got.head.length} parts`;
  } catch (thrown) {
    return `${thrown instanceof TransientFailure ? 'may pass' : 'fails'}: ${(thrown as Error).message}`;
  }
}

test.for([
  ['with its length', fileOf(250_000, 250_000), '250000 bytes'],
  ['without a length', fileOf(250_000, undefined), '250000 bytes'],
  ['an empty one', fileOf(0, undefined), '0 bytes'],
  ['cut off', fileOf(1000, 5000), 'may pass: the connection broke'],
  ['as large as is kept', fileOf(64 * MIB, 64 * MIB), `${64 * MIB} bytes`],
  ['as large as is kept, without a length', fileOf(64 * MIB, undefined), `${64 * MIB} bytes`],
  ['larger, as its length says', fileOf(0, 64 * MIB + 1), 'head: 0 parts'],
  ['larger, without a length', fileOf(64 * MIB + 1, undefined), 'head: 672 parts'],
  [
    'longer than its length',
    fileOf(5000, 1000),
    'fails: the server states 1000 bytes (Content-Length), but 5000 arrived: it encodes the file, or the file is truncated',
  ],
] as [string, Reply, string][])('a whole file, %s', async ([, reply, expected]) => {
  expect(await received(reply)).toBe(expected);
});

test('a buffered file returns copies of its parts', async () => {
  const network = { received: 3, sent: 0, retries: 0 };
  const kept = new BufferedFile(Uint8Array.of(1, 2, 3), 'disk', undefined, network);
  expect(kept).toMatchObject({ size: 3, name: 'disk', network });
  const part = await kept.read(1, 2);
  part.fill(0);
  expect(await kept.read(1, 2)).toEqual(Uint8Array.of(2, 3));
});

function comingFile(exchange: HttpExchange, begun: Uint8Array[] = []): SequentialFile {
  const retries = new Retries();
  return new SequentialFile(sequentialBody(exchange, begun, retries), retries, 'disk', 'http://host/disk', undefined);
}

test('a sequential file has the received bytes and those that follow', async () => {
  const exchange = exchangeOf(fileOf(250_000, 250_004));
  const file = comingFile(exchange, [Uint8Array.of(1, 2), Uint8Array.of(3, 4)]);
  expect(file.size).toBe(250_004);
  const bytes = new Uint8Array(await new Response(file.stream).arrayBuffer());
  expect([...bytes.subarray(0, 6)]).toEqual([1, 2, 3, 4, 7, 7]);
  expect(bytes).toHaveLength(250_004);
  expect(file.network).toEqual({ received: 250_004, sent: 0, retries: 0, silence: 0 });
  expect(exchange.isEnded).toBe(true);
});

const ONCE = 'the server sends only whole files, so reading cannot continue from there';
test.for([
  ['breaks off', { ...fileOf(1000, 5000), end: 'broken' }, `terminated; ${ONCE}`],
  ['ends early', fileOf(1000, 5000), `the connection broke; ${ONCE}`],
] as [string, Reply, string][])('a sequential file that %s', async ([, reply, message]) => {
  const exchange = exchangeOf(reply);
  const reading = new Response(comingFile(exchange).stream).arrayBuffer();
  await expect(reading).rejects.toThrow(message);
  expect(exchange.isEnded).toBe(true);
});

test('a sequential file can only be read by open, once', async () => {
  const file = comingFile(exchangeOf(fileOf(10, 10)));
  await expect(file.read()).rejects.toThrow("http://host/disk can be read only once, in order, by 'open'");
  const opened = openSequential(file);
  expect(opened).toMatchObject({ name: 'disk', size: undefined });
  expect(() => openSequential(file)).toThrow(expect.objectContaining({ kind: 'usage' }));
  const { stream } = opened.spec as Extract<typeof opened.spec, { stream: unknown }>;
  expect(await stream.read(0, 20, never)).toHaveLength(10);
});

test('a cancelled file is not fetched', async () => {
  const exchange = exchangeOf(fileOf(10, 10));
  await openSequential(comingFile(exchange)).close();
  expect(exchange.isEnded).toBe(true);
});

test.for([
  [1000, 250_000],
  [250_000, 1000],
] as const)('a cross-origin file of %d bytes whose hidden encoding has %d', async ([came, length]) => {
  const sentence = `the server states ${length} bytes (Content-Length), but ${came} arrived`;
  const exchange = exchangeOf(fileOf(came, length));
  Object.defineProperty(exchange.response, 'type', { value: 'cors' });
  await expect(receiveWhole(exchange, new Retries())).rejects.toThrow(sentence);
  const streamed = exchangeOf(fileOf(came, length));
  Object.defineProperty(streamed.response, 'type', { value: 'cors' });
  await expect(new Response(comingFile(streamed).stream).arrayBuffer()).rejects.toThrow(sentence);
});

test.for([
  [{ 'Content-Length': '10' }, undefined],
  [{}, 'http://host does not state the size of the file, so a truncated file may go unnoticed'],
] as const)('truncation that may go unnoticed: %o', ([headers, sentence]) => {
  expect(unnoticedEnd(new Response(null, { headers }), 'http://host')).toBe(sentence);
});
