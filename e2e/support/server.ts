// A plain static server for the built package and page: no bundler, as little help as possible.

import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** A page with nothing but a file input, for tests of the API. */
const BLANK = '<!doctype html><title>blank</title><input type="file" multiple>';

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self' https: http:; worker-src 'self'; frame-src 'self'";

export interface TestServer {
  url: string;
  /** Changes the text of a script before it is served, for tests of what goes wrong. */
  alter: ((path: string, script: string) => string) | undefined;
  /** The content type of wasm, where it is not its own. */
  wasmType: string | undefined;
  /** Headers that every answer has instead of its own, by their names. */
  headers: Record<string, string>;
  /** The answer of a broken server to every request. */
  status: number | undefined;
  /** A path that is never answered. */
  silent: string | undefined;
  /** The folder of the page. */
  site: string;
  /** Scripts and pages by their paths, served beside the files. */
  readonly scripts: Map<string, string>;
  /** The violations of a policy that browsers have reported to `/report`. */
  readonly reports: string[];
  close(): Promise<void>;
}

interface Options {
  isolated: boolean;
  /** Where the page is: a path that ends with a slash. */
  base?: string;
}

/** Serves `/blank`, `/dist/` and the page, under a strict policy, isolated or not. */
export async function startServer({ isolated, base = '/' }: Options): Promise<TestServer> {
  const server: Server = createServer((request, response) => {
    const { alter, wasmType, headers, status, silent, site, scripts } = handle;
    const path = normalize(decodeURIComponent(new URL(request.url!, 'http://test').pathname));
    response.setHeader('Content-Security-Policy', POLICY);
    response.setHeader('Cache-Control', 'no-store');
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (path === silent) return;
    if (status !== undefined) {
      response.writeHead(status).end();
      return;
    }
    if (path === '/report') {
      text(request).then((report) => {
        handle.reports.push(report);
        response.end();
      }, response.destroy);
      return;
    }
    if (path === '/blank') {
      response.setHeader('Content-Type', 'text/html').end(BLANK);
      return;
    }
    const script = scripts.get(path);
    if (script !== undefined) {
      response.setHeader('Content-Type', TYPES[extname(path)] ?? 'text/javascript').end(script);
      return;
    }
    const below = path.startsWith(base) ? path.slice(base.length) : 'nowhere';
    const file = path.startsWith('/dist/') ? join(root, path) : join(site, below === '' ? 'index.html' : below);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    const type = headers['Content-Type'] ?? TYPES[extname(file)] ?? 'application/octet-stream';
    response.setHeader('Content-Type', file.endsWith('.wasm') ? (wasmType ?? type) : type);
    if (alter && file.endsWith('.js')) response.end(alter(path, readFileSync(file, 'utf8')));
    else createReadStream(file).pipe(response);
  });
  const handle: TestServer = {
    url: '',
    alter: undefined,
    wasmType: undefined,
    headers: {},
    status: undefined,
    silent: undefined,
    site: join(root, 'site'),
    scripts: new Map(),
    reports: [],
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
