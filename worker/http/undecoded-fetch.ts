// Node: responses with bodies that stay encoded, which Node's `fetch` would decode.

import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { Dispatcher } from 'undici';
import type { Fetch } from './http-types.js';

/** Makes a `fetch` for requests without a body or with a stream, through `dispatcher` if given. It follows no redirect. */
export async function undecodedFetch(dispatcher?: Dispatcher): Promise<Fetch> {
  const { request } = await import('undici');
  const ask = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', headers, signal, body: sent } = init;
    const answer = await request(url, {
      method: method as Dispatcher.HttpMethod,
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(headers)) },
      ...(sent instanceof ReadableStream && { body: Readable.fromWeb(sent as NodeStream) }),
      ...(signal && { signal }),
      ...(dispatcher && { dispatcher }),
      // Decoded text would not survive a second decoding.
      responseHeaders: 'raw',
    });
    const { statusCode: status, statusText = '', body } = answer as typeof answer & { statusText?: string };
    const given = { status, statusText, headers: pairsOf(answer.headers as unknown as string[]) };
    const isEmpty = [204, 205, 304].includes(status);
    if (isEmpty) body.resume();
    return new Response(isEmpty ? null : (Readable.toWeb(body) as NodeStream as BodyInit), given);
  };
  return ask as Fetch;
}

/** Removes Content-Encoding, so that nothing decodes the body. */
function pairsOf(raw: (string | Buffer)[]): [string, string][] {
  const texts = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const pairs = Array.from({ length: texts.length / 2 }, (_, at): [string, string] => [
    texts[at * 2]!,
    texts[at * 2 + 1]!,
  ]);
  return pairs.filter(([name]) => name.toLowerCase() !== 'content-encoding');
}
