// A server that sends its file only as far as the test allows, so that its conversion can be held in the middle.

import type { ServerResponse } from 'node:http';
import { random } from './random.js';
import { type RemoteFile, serveFile } from './remote.js';

const MIB = 1 << 20;

/** A raw disk with data in each block. Its offsets are those of the file that a server sends. */
export const heldDisk: Buffer = (() => {
  const next = random(7);
  const disk = Buffer.alloc(32 * MIB);
  for (let at = 0; at < disk.length; at += 64) disk.writeUInt32LE(next() * 2 ** 32, at);
  return disk;
})();

export interface HeldFile extends RemoteFile {
  /** How many bytes of the file were sent. */
  sent: number;
  /** Sends the bytes before the offset `end`; later ones wait. */
  allow(end: number): void;
  /** Sends a little more if a request waits for it, but never the last quarter of the file. */
  allowMore(): void;
  /** Sends everything, from now on. */
  allowAll(): void;
  /** Sends nothing more until it is allowed anew. */
  hold(): void;
  /** Refuses requests from now on, and cuts off what is being sent: a token has expired, for example. */
  refuse(): void;
}

interface Options {
  etag?: () => string;
  headers?: Record<string, string>;
}

/** A part of the file that is being sent: from `at` to before `end`. */
interface Answer {
  response: ServerResponse;
  at: number;
  end: number;
}

/** Serves `file`, of which nothing is sent yet. */
export async function serveHeld(file: Buffer, { etag = () => '"now"', headers = {} }: Options = {}): Promise<HeldFile> {
  const size = file.length;
  const answers = new Set<Answer>();
  let allowed = 0;
  let isRefusing = false;

  function send(answer: Answer): void {
    const { response, at } = answer;
    // The last bytes identify a file.
    const sendable = at >= size - 512 ? size : allowed;
    const part = file.subarray(at, Math.max(at, Math.min(answer.end, sendable)));
    answer.at += part.length;
    server.sent += part.length;
    if (part.length > 0) response.write(part);
    if (answer.at < answer.end) return;
    answers.delete(answer);
    response.end();
  }

  function allow(end: number): void {
    allowed = Math.max(allowed, end);
    for (const answer of answers) send(answer);
  }

  const served = await serveFile(file, {
    answer(request, response) {
      if (isRefusing) {
        response.writeHead(403, headers).end();
        return true;
      }
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')!;
      const [at, end] = [Number(first), Math.min(Number(last) + 1, size)];
      const lengths = { 'Content-Range': `bytes ${at}-${end - 1}/${size}`, 'Content-Length': end - at };
      response.writeHead(206, { ETag: etag(), ...lengths, ...headers }).flushHeaders();
      const answer = { response, at, end };
      answers.add(answer);
      response.on('close', () => answers.delete(answer));
      send(answer);
      return true;
    },
  });
  const server: HeldFile = Object.assign(served, {
    sent: 0,
    allow,
    allowMore() {
      const isAwaited = [...answers].some(({ at }) => at >= allowed);
      if (isAwaited && allowed < size * 0.75) allow(allowed + Math.ceil(size / 16));
    },
    allowAll: () => allow(size),
    hold() {
      allowed = 0;
    },
    refuse() {
      isRefusing = true;
      for (const { response } of answers) response.destroy();
    },
  });
  return server;
}

/** Serves `heldDisk`. */
export const serveDisk = (options: Options = {}): Promise<HeldFile> => serveHeld(heldDisk, options);
