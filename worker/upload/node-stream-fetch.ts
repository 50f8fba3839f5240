// Node: a `fetch` for requests whose body is a stream. Node's own hides the response to such a request if the server redirects it,
// and loses the response if the server closes the connection while the body is being sent.

import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isObject } from '../errors/values.js';
import { responseOf, responseTo } from '../http/node-response.js';

/** How long a server has to ask for the body, in milliseconds: older servers do not know `Expect: 100-continue`. */
const CONTINUE_TIME = 1000;
/** How long a response may take after a failed write, in milliseconds: it has been sent before. */
const RESPONSE_TIME = 2000;
const EXPECTATION_FAILED = 417;

interface StreamInit {
  method: string;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array>;
  signal: AbortSignal;
}

/** Makes a request with a stream as its body. Redirects are not followed. */
export async function streamFetch(url: URL, init: StreamInit, expects = true): Promise<Response> {
  init.signal.throwIfAborted();
  const request = requestOf(url, init, expects);
  const response = await exchange(request, init, expects);
  if (expects && response.statusCode === EXPECTATION_FAILED && !init.body.locked) {
    request.destroy();
    return streamFetch(url, init, false);
  }
  return responseOf(response);
}

function requestOf(url: URL, { method, headers, signal }: StreamInit, expects: boolean): ClientRequest {
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const expectation: Record<string, string> = expects ? { Expect: '100-continue' } : {};
  const made = request(url, { method, headers: { ...headers, ...expectation }, agent: agentFor(url), signal });
  made.flushHeaders();
  return made;
}

const agents = new Map<string, Agent>();

/** Returns an agent whose connections are read to their end. */
function agentFor({ protocol }: URL): Agent {
  const known = agents.get(protocol);
  if (known) return known;
  const { Agent } = process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http');
  const agent = new Agent();
  const connect = agent.createConnection;
  agent.createConnection = (...options) => readToEnd(connect.apply(agent, options) as Socket);
  agents.set(protocol, agent);
  return agent;
}

/**
 * Keeps `socket` open for a while after a failed write: a server that closes the connection may have sent its response before.
 */
function readToEnd(socket: Socket): Socket {
  const destroy = socket.destroy.bind(socket);
  const isOfWrite = (error: unknown) => isObject(error) && (error as NodeJS.ErrnoException).syscall === 'write';
  socket.destroy = (error) => {
    if (!isOfWrite(error) || socket.readableEnded) return destroy(error);
    // Not every connection that was reset shows its end to a reader.
    const timer = setTimeout(() => destroy(error), RESPONSE_TIME);
    socket.once('close', () => clearTimeout(timer));
    return socket;
  };
  return socket;
}

/** Sends the body until there is a response that refuses it. */
async function exchange(request: ClientRequest, { body }: StreamInit, expects: boolean): Promise<IncomingMessage> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      let isSending = false;
      const begin = () => {
        if (isSending || request.destroyed) return;
        isSending = true;
        send(body, request).catch((thrown) => {
          reject(thrown);
          request.destroy();
        });
      };
      responseTo(request).then(resolve, reject);
      request.on('continue', begin);
      request.on('response', (response) => {
        const isSuccess = response.statusCode! < 300;
        // A server may answer with success before it has read the stream: the stream is sent all the same.
        if (isSuccess) begin();
        response.once('close', () => {
          if (!request.writableFinished && !(isSuccess && response.complete)) request.destroy();
        });
      });
      if (expects) timer = setTimeout(begin, CONTINUE_TIME);
      else begin();
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Writes `body` to `request`, and ends it. Stops when the request is over. */
async function send(body: ReadableStream<Uint8Array>, request: ClientRequest): Promise<void> {
  const reader = body.getReader();
  const over = new Promise<void>((resolve) => request.once('close', resolve));
  // Ends a pending read. Ignored: a stream that has failed cannot be cancelled.
  over.then(() => reader.cancel()).catch(() => {});
  let wake = () => {};
  const mayWrite = () => wake();
  request.on('drain', mayWrite).once('close', mayWrite);
  for (;;) {
    const { value } = await reader.read();
    if (request.destroyed) return;
    if (!value) break;
    if (request.write(value)) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  request.end();
}
