// Node: requests by `node:http` whose results are those of `fetch`.

import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isObject } from '../errors/values.js';

/** Statuses whose responses have no body. */
const EMPTY = [204, 205, 304];
/** The statuses of a `Response`. */
const [LEAST_STATUS, MOST_STATUS] = [200, 599];

/** Whether Node's own `fetch` would be used: neither the program nor the runtime has its own way of making requests. */
export function hasNodeFetch(): boolean {
  const { versions } = globalThis.process ?? {};
  const isNode = versions?.node !== undefined && versions.bun === undefined && versions.deno === undefined;
  return isNode && process.getBuiltinModule !== undefined && typeof document === 'undefined' && !isReplaced();
}

/** Whether the program has replaced Node's `fetch`, or the connections that it makes (undici's `setGlobalDispatcher`). */
function isReplaced(): boolean {
  const isNative = String(globalThis.fetch).includes('internal/deps/undici');
  const dispatcher = (globalThis as Record<symbol, unknown>)[Symbol.for('undici.globalDispatcher.1')];
  return !isNative || (isObject(dispatcher) && dispatcher.constructor?.name !== 'Agent');
}

/** Resolves to the response to `request`. Fails if the connection is closed before one. */
export function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(withTraffic(error, request.socket));
    request.on('response', (message) => {
      // Ignored: the reader of the body gets it.
      message.on('error', () => {});
      resolve(message);
    });
    // The only event if the server switches to another protocol.
    request.on('error', fail).on('close', () => fail(new Error('the connection was closed without a response')));
  });
}

/** The headers of a response, with the methods of `Headers` that reads call. */
class ReceivedHeaders {
  /** By names in lower case. */
  readonly #values = new Map<string, string>();

  /** `raw` alternates names and values. */
  constructor(raw: readonly string[]) {
    for (let at = 0; at < raw.length; at += 2) {
      const before = this.get(raw[at]!);
      const value = raw[at + 1]!;
      this.#values.set(raw[at]!.toLowerCase(), before === null ? value : `${before}, ${value}`);
    }
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#values.entries();
  }
}

/** The parts of a `Response` that are read. Node takes 20 ms to load the class. */
export interface ReadableResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly headers: ReceivedHeaders;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Returns `message` as a response to a read. Its body stays encoded. */
export function readableResponse(message: IncomingMessage): ReadableResponse {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message;
  if (status < LEAST_STATUS || status > MOST_STATUS) {
    message.destroy();
    throw new Error(`the server answered ${status}, which is not a status of HTTP`);
  }
  const isEmpty = EMPTY.includes(status);
  if (isEmpty) message.resume();
  const headers = new ReceivedHeaders(rawHeaders);
  return { ok: status < 300, status, statusText, headers, body: isEmpty ? null : bodyOf(message) };
}

/** Returns `message` as a `Response`. Its body stays encoded. */
export function responseOf(message: IncomingMessage): Response {
  const { body, ...init } = readableResponse(message);
  return new Response(body, { ...init, headers: [...init.headers] });
}

/** The memory of connections that read into one buffer (`node-agents.ts`): each read overwrites it. */
export const overwritten = new WeakSet<ArrayBufferLike>();

/** Returns `bytes`, or a copy if the next read could overwrite them: whether the parser copies depends on the version of Node. */
export const unshared = (bytes: Uint8Array): Uint8Array =>
  overwritten.has(bytes.buffer) ? new Uint8Array(bytes) : bytes;

/** The most bytes of a body that wait for their reader. */
const AHEAD = 1 << 20;

/** Like `Readable.toWeb`, but takes less time for each chunk. */
function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> {
  let isCancelled = false;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      const fail = (error: Error) => controller.error(error);
      const close = () => {
        if (!message.readableEnded) fail(message.errored ?? new Error('the connection was closed'));
      };
      if (message.destroyed) return close();
      message.on('data', (bytes: Buffer) => {
        controller.enqueue(unshared(bytes));
        if (controller.desiredSize! <= 0) message.pause();
      });
      message.on('end', () => {
        if (!isCancelled) controller.close();
      });
      message.on('error', fail).on('close', close);
    },
    pull: () => void message.resume(),
    cancel() {
      isCancelled = true;
      message.destroy();
    },
  };
  return new ReadableStream(source, { highWaterMark: AHEAD, size: ({ length }) => length });
}

/** Adds the traffic of the connection, which explains why it was closed. */
const withTraffic = (error: Error, socket: Socket | null): Error =>
  Object.assign(error, { socket: { bytesRead: socket?.bytesRead, bytesWritten: socket?.bytesWritten } });
