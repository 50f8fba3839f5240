// A server that sends its file slowly, so that a conversion of it can be cut off.

import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type RemoteFile, serveFile } from './remote.js';

/** How long a file takes, in milliseconds. */
const WHOLE = 1500;
/** Between two pieces of an answer, in milliseconds. */
const STEP = 20;

export interface SlowFile extends RemoteFile {
  /** How many bytes of the file were sent. */
  sent: number;
  /** Whether it sends nothing any more: a token has expired, say. */
  refuses: boolean;
}

/** Serves the file at `path`: two requests at once bring all of it in about `whole` milliseconds. */
export async function serveSlowly(path: string, etag = () => '"now"', headers = {}, whole = WHOLE): Promise<SlowFile> {
  const file = readFileSync(path);
  const pace = ((file.length / whole) * STEP) / 2;
  const answer = (range: string | undefined, response: ServerResponse): boolean => {
    if (server.refuses) {
      response.writeHead(403, headers).end();
      return true;
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '')!;
    const [start, end] = [Number(first), Math.min(Number(last) + 1, file.length)];
    const lengths = { 'Content-Range': `bytes ${start}-${end - 1}/${file.length}`, 'Content-Length': end - start };
    response.writeHead(206, { ETag: etag(), ...lengths, ...headers });
    let at = start;
    const send = () => {
      if (server.refuses) response.destroy();
      if (response.destroyed) return;
      const part = file.subarray(at, Math.min(end, at + pace));
      at += part.length;
      server.sent += part.length;
      response.write(part);
      if (at < end) setTimeout(send, STEP);
      else response.end();
    };
    send();
    return true;
  };
  const served = await serveFile(file, { answer: ({ headers }, response) => answer(headers.range, response) });
  const server: SlowFile = Object.assign(served, { sent: 0, refuses: false });
  return server;
}
