// What a plain web server does with a built page: it serves it from a folder below the root, under a strict policy and
// without isolation. It counts what it sends.

import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, extname, join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';

export const BASE = '/some/app/';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
};

/** All that the package needs. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self' 'wasm-unsafe-eval'",
  'worker-src': "'self'",
  'connect-src': "'self'",
};

export interface Sent {
  name: string;
  bytes: number;
}

export interface ConsumerServer {
  origin: string;
  /** The files of the page that were sent since this list was emptied. */
  sent: Sent[];
  /** The requests for files that do not exist. */
  missing: string[];
  /** The SHA-256 of what was put below `/uploads/`, by name. */
  uploads: Map<string, string>;
  close(): Promise<void>;
}

interface Options {
  /** The folder of the page. */
  site?: string;
  /** Images, by the names that they have below `/images/`. Pages of other servers may read them too. */
  images: Record<string, string>;
  /** Further sources that the page needs, by directive. */
  policy?: Record<string, string>;
  /** Whether browsers may keep what they get. */
  cached?: boolean;
}

export async function serve({ site, images, policy = {}, cached = false }: Options): Promise<ConsumerServer> {
  const directives = new Map<string, string>(Object.entries(POLICY));
  for (const [name, value] of Object.entries(policy)) directives.set(name, `${directives.get(name) ?? ''} ${value}`);
  const header = [...directives].map(([name, value]) => `${name} ${value}`).join('; ');
  const sent: Sent[] = [];
  const missing: string[] = [];
  const uploads = new Map<string, string>();
  const receive = async (name: string, request: IncomingMessage) => {
    const hash = createHash('sha256');
    await pipeline(request, hash);
    uploads.set(name, hash.digest('hex'));
  };

  const find = (path: string): string | undefined => {
    if (path.startsWith('/images/')) return images[basename(path)];
    if (!site || !path.startsWith(BASE)) return undefined;
    return join(site, path === BASE ? 'index.html' : path.slice(BASE.length));
  };

  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url!, 'http://test').pathname));
    if (request.method === 'PUT' && path.startsWith('/uploads/')) {
      receive(basename(path), request).then(() => response.writeHead(201).end(), console.error);
      return;
    }
    const file = find(path);
    const size = file && statSync(file, { throwIfNoEntry: false });
    const isImage = path.startsWith('/images/');
    response.setHeader('Content-Security-Policy', header);
    response.setHeader('Cache-Control', cached ? 'max-age=3600' : 'no-store');
    if (isImage) response.setHeader('Access-Control-Allow-Origin', '*');
    if (!size || !size.isFile()) {
      // A browser asks for an icon by itself.
      if (!path.endsWith('/favicon.ico')) missing.push(path);
      response.writeHead(404).end();
      return;
    }
    if (!isImage) sent.push({ name: path, bytes: size.size });
    response.setHeader('Content-Type', TYPES[extname(file!)] ?? 'application/octet-stream');
    response.setHeader('Content-Length', size.size);
    createReadStream(file!).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    sent,
    missing,
    uploads,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
