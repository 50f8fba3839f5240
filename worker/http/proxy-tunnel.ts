// Tunnels through a proxy by CONNECT: RFC 9110, section 9.3.6.

import { type IncomingMessage, request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import type { Socket } from 'node:net';
import { decoded } from './address.js';
import { failureOf, NoAnswer, networkReason, type RequestRefused, type TransientFailure } from './http-failures.js';

/** How long a proxy may take to open a tunnel, in milliseconds: less than a request's time-out, so that the error names the proxy. */
export const TUNNEL_MS = 20_000;

const HINTS: Record<number, string> = {
  403: '; it does not allow this server',
  407: '; give a user and a password in the URL of the proxy',
};

/** For messages: without user and password. */
export const shownProxy = ({ protocol, host }: URL): string => `the proxy ${protocol}//${host}`;

/** The header made of the proxy's user and password, if it has any. */
export function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const user = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  return { 'Proxy-Authorization': `Basic ${user}` };
}

/** Makes the failure of a response of `proxy` itself. */
export function proxyRefusal(proxy: URL, status: number, statusText: string): TransientFailure | RequestRefused {
  const failure = failureOf(new Response(null, { status, statusText }), { hints: HINTS, server: shownProxy(proxy) });
  return Object.assign(failure, { host: proxy.host });
}

export const proxySilence = (proxy: URL, reason: string, cause?: unknown): NoAnswer =>
  new NoAnswer(`no answer came from ${shownProxy(proxy)} (${reason})`, undefined, { cause, host: proxy.host });

/** Connects to `authority`, HOST:PORT. Errors name the proxy. */
export function openTunnel(proxy: URL, authority: string): Promise<Socket> {
  const ask = proxy.protocol === 'https:' ? requestSecurely : request;
  const host = proxy.hostname.replace(/^\[|\]$/g, '');
  const headers = { Host: authority, ...proxyAuthorization(proxy) };
  const port = proxy.port === '' ? {} : { port: Number(proxy.port) };
  return new Promise((resolve, reject) => {
    const asking = ask({ host, ...port, method: 'CONNECT', path: authority, headers, agent: false });
    const late = () => asking.destroy(new Error(`nothing for ${TUNNEL_MS / 1000} seconds`));
    const timer = setTimeout(late, TUNNEL_MS);
    const connected = ({ statusCode = 0, statusMessage = '' }: IncomingMessage, socket: Socket) => {
      clearTimeout(timer);
      if (statusCode >= 200 && statusCode < 300) return resolve(socket);
      socket.destroy();
      // `Response` takes no other status.
      const isStatus = statusCode >= 300 && statusCode < 600;
      reject(proxyRefusal(proxy, isStatus ? statusCode : 502, isStatus ? statusMessage : ''));
    };
    asking.on('connect', connected);
    asking.on('error', (cause) => {
      clearTimeout(timer);
      reject(proxySilence(proxy, networkReason(cause), cause));
    });
    asking.end();
  });
}
