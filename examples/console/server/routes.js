// What the server answers: the page, under a strict policy, and the API that src/server.js asks.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { readJson, readPart } from './body.js';
import { Refusal } from './imports.js';

const POLICY = [
  "default-src 'none'",
  // Without `wasm-unsafe-eval` no page compiles WebAssembly.
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

const ROUTES = [
  ['GET', /^\/api\/disks$/, (imports) => imports.disks()],
  ['POST', /^\/api\/imports$/, async (imports, request) => imports.begin(await readJson(request))],
  [
    'PUT',
    /^\/api\/imports\/([\w-]+)\/parts\/(\d{1,9})$/,
    async (imports, request, id, number) => {
      const bytes = await readPart(request, imports.lengthOf(id, Number(number)));
      await imports.write(id, Number(number), bytes);
    },
  ],
  [
    'POST',
    /^\/api\/imports\/([\w-]+)\/complete$/,
    async (imports, request, id) => imports.complete(id, await readJson(request)),
  ],
  ['DELETE', /^\/api\/imports\/([\w-]+)$/, (imports, _request, id) => imports.remove(id)],
];

/** Handles requests for the page in `site` and for `imports`. */
export function handler(site, imports) {
  return async (request, response) => {
    try {
      const { pathname } = new URL(request.url, 'http://console');
      if (pathname.startsWith('/api/')) await api(pathname, request, response, imports);
      else await file(pathname, response, site);
    } catch (thrown) {
      answer(response, thrown);
    }
  };
}

async function api(pathname, request, response, imports) {
  for (const [method, pattern, work] of ROUTES) {
    const match = request.method === method && pattern.exec(pathname);
    if (!match) continue;
    const value = await work(imports, request, ...match.slice(1));
    response.writeHead(value === undefined ? 204 : 200, { 'Content-Type': 'application/json' });
    response.end(value === undefined ? undefined : JSON.stringify(value));
    return;
  }
  throw new Refusal(404, 'There is no such thing here');
}

async function file(pathname, response, site) {
  const path = join(site, normalize(decodeURIComponent(pathname === '/' ? '/index.html' : pathname)));
  const found = path.startsWith(site) ? await stat(path).catch(() => undefined) : undefined;
  if (!found?.isFile()) throw new Refusal(404, 'There is no such thing here');
  response.writeHead(200, {
    'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream',
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
  });
  createReadStream(path).pipe(response);
}

function answer(response, thrown) {
  // Whoever has gone gets no answer.
  if (response.destroyed) return;
  const isRefusal = thrown instanceof Refusal;
  if (!isRefusal) console.error(thrown);
  response.writeHead(isRefusal ? thrown.status : 500, { 'Content-Type': 'application/json', Connection: 'close' });
  response.end(JSON.stringify({ error: isRefusal ? thrown.message : 'The server has failed; try again' }));
}
