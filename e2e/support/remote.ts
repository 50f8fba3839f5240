// A server of one file for range requests, with many kinds of failures and false answers.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Asked as AskedOfAny, type Fault, type Reply, replyOf } from './replies.js';

export interface Asked extends Omit<AskedOfAny, 'url'> {
  url: string;
  headers: IncomingMessage['headers'];
}

export interface RemoteFile {
  url: string;
  origin: string;
  /** The requests so far. */
  asked: Asked[];
  close(): Promise<void>;
}

interface Options {
  /** Called at a request instead of answering it, with its number. */
  fault?: (number: number) => Fault | undefined;
  /** Answers in another way; returns whether it has. */
  answer?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Resolves when the request may be answered. */
  before?: (asked: Asked) => Promise<void> | undefined;
  headers?: Record<string, string>;
}

/** Serves `whole` at any path. */
export async function serveFile(
  whole: Buffer,
  { fault = () => undefined, answer = () => false, before = () => undefined, headers = {} }: Options = {},
): Promise<RemoteFile> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers: given } = request;
    const now: Asked = { method: method!, range: given.range, url: url!, headers: given };
    const number = asked.push(now) - 1;
    // A client that leaves during the answer is not waited for.
    response.on('error', () => {});
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const reply = () => {
      if (answer(request, response)) return;
      send(replyOf(whole, { ...now, url: new URL(url!, `http://${given.host}`) }, fault(number)), response);
    };
    const held = before(now);
    if (held) held.then(reply, () => response.destroy());
    else reply();
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

/** Replies by `response`. */
export function send({ status, headers = {}, body = new Uint8Array(0), end }: Reply, response: ServerResponse): void {
  const follow = () => {
    if (end === 'broken') response.destroy();
  };
  if (status === undefined) {
    follow();
    return;
  }
  response.writeHead(status, headers);
  if (end === undefined) response.end(body);
  else response.write(body, follow);
}
