// Servers that expect another protocol, and certificates that Node refuses.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { type AddressInfo, createServer as createPlain, type Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetch as undiciFetch } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DecantError } from '../errors/errors.js';
import { openHttp } from '../sources/open-http.js';
import { connectionReason } from './http-failures.js';
import type { Fetch } from './http-types.js';

const folder = mkdtempSync(join(tmpdir(), 'decant-tls-'));
const servers: Record<string, Server | NetServer> = {};

beforeAll(async () => {
  const [key, cert] = ['key', 'cert'].map((name) => join(folder, name)) as [string, string];
  const files = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-subj', '/CN=other.example'];
  execFileSync('openssl', ['req', '-x509', ...files], { stdio: 'ignore' });
  servers.http = createServer((_, response) => response.end());
  servers.https = createSecure({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => response.end());
  // A TLS server that answers plain text by an alert, as OpenSSL's does.
  servers.alert = createPlain((socket) => socket.on('error', () => {}).end(Buffer.from([21, 3, 1, 0, 2, 2, 70])));
  for (const server of Object.values(servers)) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  for (const server of Object.values(servers)) server.close();
  rmSync(folder, { recursive: true });
});

test.concurrent.for([
  ['https', 'http', 'ERR_SSL_WRONG_VERSION_NUMBER: the server does not use TLS on this port; it may expect http'],
  ['http', 'https', 'the server closed the connection without a response; it may expect https'],
  ['http', 'alert', 'the answer is not valid HTTP; the server may expect https'],
  [
    'https',
    'https',
    'DEPTH_ZERO_SELF_SIGNED_CERT: the certificate of the server is not trusted here; NODE_EXTRA_CA_CERTS can name a file with its authority',
  ],
])('%s meets %s', async ([scheme, server, reason], { expect }) => {
  const { port } = servers[server!]!.address() as AddressInfo;
  const origin = `${scheme}://127.0.0.1:${port}`;
  for (const ask of [fetch, undiciFetch as unknown as Fetch]) {
    let requests = 0;
    const counted: Fetch = (...call) => {
      requests += 1;
      return ask(...call);
    };
    const failure = await openHttp({ seesRedirects: true }, `${origin}/disk`, { fetch: counted }).catch(
      (thrown) => thrown,
    );
    expect(failure).toBeInstanceOf(DecantError);
    expect(failure).toMatchObject({
      code: 'no-answer',
      message: `Could not open '${origin}/disk': no answer came from ${origin} (${reason})`,
    });
    // Retried for about a second, since a page that asks for a log-in may stand in for the server.
    expect(requests).toBe(3);
  }
});

test.for([
  ['CERT_HAS_EXPIRED', 'CERT_HAS_EXPIRED: the certificate of the server has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_TLS_CERT_ALTNAME_INVALID: the certificate of the server is for another name'],
  ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: TLS failed'],
  ['EPROTO', 'EPROTO: TLS failed; the server may expect http on this port'],
  ['ECONNRESET', undefined],
  ['toString', undefined],
  [7, undefined],
])('an error with the code %s', ([code, reason]) => {
  expect(connectionReason(Object.assign(new Error('of OpenSSL'), { code }), 'https://host')).toBe(reason);
});

test('headers that are too large are HTTP', () => {
  expect(connectionReason({ code: 'HPE_INVALID_CONSTANT' }, 'http://x')).toContain('not valid HTTP');
  expect(connectionReason({ code: 'HPE_HEADER_OVERFLOW' }, 'http://x')).toBe(undefined);
});
