// A server of one file for range requests, which may fail and lie in many ways.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a server can do instead of answering as it should. */
export const FAULTS = {
  // What passes: another attempt, or the rest of the answer, is as it should be.
  drop: (_, response) => response.destroy(),
  silent: () => {},
  'status 503': (_, response) => refuse(response, 503),
  '429, wait': (_, response) => refuse(response, 429, { 'Retry-After': '0' }),
  '429, until': (_, response) => refuse(response, 429, { 'Retry-After': new Date(0).toUTCString() }),
  'status 408': (_, response) => refuse(response, 408),
  cut: ({ bytes, head }, response) => {
    response.writeHead(206, head);
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  },
  stall: ({ bytes, head }, response) => {
    response.writeHead(206, head);
    response.write(bytes.subarray(0, bytes.length >> 1));
  },
  'fewer, as it says': ({ bytes, head, start, size }, response) => {
    const length = Math.max(1, bytes.length >> 1);
    const range = `bytes ${start}-${start + length - 1}/${size}`;
    response.writeHead(206, { ...head, 'Content-Range': range, 'Content-Length': length });
    response.end(bytes.subarray(0, length));
  },
  redirect: (_, response, request) => {
    response.writeHead(302, { Location: `${request.url}${request.url!.includes('?') ? '&' : '?'}again` }).end();
  },
  // Another name of this server, and so another origin.
  'redirect elsewhere': (_, response, { headers, url }) => {
    const port = headers.host!.split(':')[1];
    const isElsewhere = headers.host!.startsWith('localhost');
    response.writeHead(302, { Location: `http://${isElsewhere ? '127.0.0.1' : 'localhost'}:${port}${url}` }).end();
  },
  // What does not.
  'another range': ({ bytes, head, start, size }, response) => {
    response.writeHead(206, { ...head, 'Content-Range': `bytes ${start + 1}-${start + bytes.length}/${size}` });
    response.end(bytes);
  },
  'no range': ({ bytes, head }, response) => {
    const { 'Content-Range': _, ...others } = head;
    response.writeHead(206, others).end(bytes);
  },
  'another size': ({ bytes, head, start, size }, response) => {
    const range = `bytes ${start}-${start + bytes.length - 1}/${size + 1}`;
    response.writeHead(206, { ...head, 'Content-Range': range }).end(bytes);
  },
  more: ({ bytes, head }, response) => {
    const { 'Content-Length': _, ...others } = head;
    response.writeHead(206, others);
    response.end(Buffer.concat([bytes, Buffer.from('more')]));
  },
  whole: ({ whole, head }, response) => {
    response.writeHead(200, { ETag: head.ETag, 'Content-Length': whole.length });
    response.end(whole);
  },
  'another ETag': ({ bytes, head }, response) => response.writeHead(206, { ...head, ETag: '"later"' }).end(bytes),
  'several parts': ({ bytes, head }, response) => {
    response.writeHead(206, { ...head, 'Content-Type': 'multipart/byteranges; boundary=x' }).end(bytes);
  },
  encoded: ({ bytes, head }, response) =>
    response.writeHead(206, { ...head, 'Content-Encoding': 'x-other' }).end(bytes),
  'status 404': (_, response) => refuse(response, 404),
  'status 403': (_, response) => refuse(response, 403),
  'status 416': ({ size }, response) => refuse(response, 416, { 'Content-Range': `bytes */${size - 1}` }),
  'redirect to nowhere': (_, response) => response.writeHead(302, { Location: 'ftp://elsewhere/' }).end(),
} satisfies Record<string, (part: Part, response: ServerResponse, request: IncomingMessage) => unknown>;

export type Fault = keyof typeof FAULTS;

/** The part of the file that was asked for. */
interface Part {
  whole: Buffer;
  size: number;
  start: number;
  bytes: Buffer;
  head: { ETag: string; 'Content-Range': string; 'Content-Length': number; [name: string]: string | number };
}

/** The faults that pass when a request is made again. */
export const PASSING: Fault[] = [
  'drop',
  'silent',
  'status 503',
  '429, wait',
  '429, until',
  'status 408',
  'cut',
  'stall',
  'fewer, as it says',
  'redirect',
  'redirect elsewhere',
];

const refuse = (response: ServerResponse, status: number, headers = {}): unknown =>
  response.writeHead(status, headers).end();

export interface Asked {
  method: string;
  range: string | undefined;
  url: string;
  headers: IncomingMessage['headers'];
}

export interface RemoteFile {
  url: string;
  origin: string;
  /** What was asked for so far. */
  asked: Asked[];
  close(): Promise<void>;
}

interface Options {
  /** What to do at a request instead of answering it, by its number. */
  fault?: (number: number) => Fault | undefined;
  /** Answers in another way; returns whether it has. */
  answer?: (request: IncomingMessage, response: ServerResponse) => boolean;
  headers?: Record<string, string>;
}

/** Serves `whole` at any path. */
export async function serveFile(
  whole: Buffer,
  { fault = () => undefined, answer = () => false, headers = {} }: Options = {},
): Promise<RemoteFile> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers: given } = request;
    asked.push({ method: method!, range: given.range, url: url!, headers: given });
    // Whoever goes while it is answered is not waited for.
    response.on('error', () => {});
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (answer(request, response)) return;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(given.range ?? '') ?? [];
    const size = whole.length;
    if (first === undefined) {
      response.writeHead(200, { ETag: '"now"', 'Content-Length': size });
      response.end(method === 'HEAD' ? undefined : whole);
      return;
    }
    const [start, end] = [Number(first), Math.min(Number(last) + 1, size)];
    if (start >= size) {
      refuse(response, 416, { 'Content-Range': `bytes */${size}` });
      return;
    }
    const range = `bytes ${start}-${end - 1}/${size}`;
    const head = { ETag: '"now"', 'Content-Range': range, 'Content-Length': end - start };
    const part: Part = { whole, size, start, bytes: whole.subarray(start, end), head };
    const wrong = fault(asked.length - 1);
    if (wrong !== undefined) FAULTS[wrong](part, response, request);
    else response.writeHead(206, head).end(part.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/images/disk.qcow2`,
    origin,
    asked,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
