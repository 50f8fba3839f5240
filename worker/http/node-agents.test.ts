// Connections that read into one buffer, with and without TLS.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { agentFor } from './node-agents.js';
import { responseOf, responseTo, unshared } from './node-response.js';

const folder = mkdtempSync(join(tmpdir(), 'decant-agents-'));
const [key, cert] = ['key', 'cert'].map((name) => join(folder, name)) as [string, string];
const BODY = randomBytes(5 << 20);

beforeAll(() => {
  const files = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', ...files, ...names], { stdio: 'ignore' });
});
afterAll(() => rmSync(folder, { recursive: true }));

const sendBody: RequestListener = (_, response) => response.end(BODY);
const secured = () => https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, sendBody);

/** Starts a server of `BODY` that is closed after the test. Resolves to a function that requests it. */
async function serve(protocol: string): Promise<() => http.ClientRequest> {
  const isSecure = protocol === 'https:';
  const server = isSecure ? secured() : http.createServer(sendBody);
  await new Promise<void>((done) => server.listen(0, 'localhost', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const agent = agentFor(protocol, isSecure ? https.Agent : http.Agent);
  const { request } = isSecure ? https : http;
  return () => request(`${protocol}//localhost:${port}`, { agent, ca: readFileSync(cert) }).end();
}

test.each(['http:', 'https:'])('%s: bodies arrive whole, by several connections at once', async (protocol) => {
  const ask = await serve(protocol);
  const received = async () => new Uint8Array(await responseOf(await responseTo(ask())).arrayBuffer());
  const first = await Promise.all([received(), received(), received()]);
  const next = await received();
  for (const body of [...first, next]) expect(BODY.equals(body)).toBe(true);
});

test.each(['http:', 'https:'])('%s: a body waits for its reader', async (protocol) => {
  const ask = await serve(protocol);
  const [slow, other] = [await responseTo(ask()), await responseTo(ask())];
  const body = responseOf(slow).body!.getReader();
  const parts: Uint8Array[] = [(await body.read()).value!];
  // The other one is received while nobody reads the first.
  expect(BODY.equals(new Uint8Array(await responseOf(other).arrayBuffer()))).toBe(true);
  for (let part = await body.read(); !part.done; part = await body.read()) parts.push(part.value);
  expect(BODY.equals(Buffer.concat(parts))).toBe(true);
});

test('only bytes that the next read could overwrite are copied', async () => {
  const request = (await serve('http:'))();
  const read: Buffer[] = [];
  request.on('socket', (socket) => socket.on('data', (bytes: Buffer) => read.push(bytes)));
  await responseOf(await responseTo(request)).arrayBuffer();
  expect(new Set(read.map(({ buffer }) => buffer)).size).toBe(1);
  const bytes = read[0]!.subarray(0, 3);
  const kept = unshared(bytes);
  expect([kept.buffer === bytes.buffer, kept]).toEqual([false, new Uint8Array(bytes)]);
  expect(unshared(kept)).toBe(kept);
});
