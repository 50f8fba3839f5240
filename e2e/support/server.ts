// A plain static server for the built package and page: no bundler, as little help as possible.

import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/** A page with nothing but a file input, for tests of the API. */
const BLANK = '<!doctype html><title>blank</title><input type="file" multiple>';

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'";

export interface TestServer {
  url: string;
  /** Changes the text of a script before it is served, for tests of what goes wrong. */
  alter: ((path: string, script: string) => string) | undefined;
  close(): Promise<void>;
}

/** Serves `/blank`, `/dist/` and the page at `/`, under a strict policy, isolated or not. */
export async function startServer({ isolated }: { isolated: boolean }): Promise<TestServer> {
  const server: Server = createServer((request, response) => {
    const { alter } = handle;
    const path = normalize(decodeURIComponent(new URL(request.url!, 'http://test').pathname));
    response.setHeader('Content-Security-Policy', POLICY);
    response.setHeader('Cache-Control', 'no-store');
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    if (path === '/blank') {
      response.setHeader('Content-Type', 'text/html').end(BLANK);
      return;
    }
    const file = path.startsWith('/dist/') ? join(root, path) : join(root, 'site', path === '/' ? 'index.html' : path);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
    if (alter && file.endsWith('.js')) response.end(alter(path, readFileSync(file, 'utf8')));
    else createReadStream(file).pipe(response);
  });
  const handle: TestServer = {
    url: '',
    alter: undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  handle.url = `http://localhost:${(server.address() as AddressInfo).port}`;
  return handle;
}
