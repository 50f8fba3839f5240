// The routes: the page, under a strict policy, and the API for src/server.js.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { readJson, readPart } from './body.js';
import { Refusal } from './refusal.js';

/** `bucket` is the origin of the bucket, if any. */
const policyOf = (bucket) =>
  [
    "default-src 'none'",
    // WebAssembly needs `wasm-unsafe-eval`.
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "worker-src 'self'",
    ["connect-src 'self'", bucket].join(' ').trim(),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

const ROUTES = [
  ['GET', /^\/api\/place$/, ({ isBucket }) => ({ bucket: isBucket })],
  ['GET', /^\/api\/disks$/, (imports) => imports.disks()],
  ['POST', /^\/api\/imports$/, async (imports, request) => imports.begin(await readJson(request))],
  [
    'POST',
    /^\/api\/imports\/([\w-]+)\/complete$/,
    async (imports, request, id) => imports.complete(id, await readJson(request)),
  ],
];

/** Routes with a bucket. */
const OF_BUCKET = [
  [
    'POST',
    /^\/api\/imports\/([\w-]+)\/sign$/,
    async (imports, request, id) => imports.sign(id, await readJson(request)),
  ],
];

/** Routes without a bucket. */
const OF_PARTS = [
  [
    'PUT',
    /^\/api\/imports\/([\w-]+)\/parts\/(\d{1,9})$/,
    async (imports, request, id, number) => {
      const bytes = await readPart(request, imports.lengthOf(id, Number(number)));
      await imports.write(id, Number(number), bytes);
    },
  ],
  ['DELETE', /^\/api\/imports\/([\w-]+)$/, (imports, _request, id) => imports.remove(id)],
];

/** Handles requests for the page in `site` and for `imports`; `bucket` is the origin of the bucket, if any. */
export function handler(site, imports, bucket) {
  const policy = policyOf(bucket);
  return async (request, response) => {
    try {
      const { pathname } = new URL(request.url, 'http://console');
      if (pathname.startsWith('/api/')) await api(pathname, request, response, imports);
      else await file(pathname, response, site, policy);
    } catch (thrown) {
      answer(response, thrown);
    }
  };
}

async function api(pathname, request, response, imports) {
  for (const [method, pattern, work] of [...ROUTES, ...(imports.isBucket ? OF_BUCKET : OF_PARTS)]) {
    const match = request.method === method && pattern.exec(pathname);
    if (!match) continue;
    const value = await work(imports, request, ...match.slice(1));
    response.writeHead(value === undefined ? 204 : 200, { 'Content-Type': 'application/json' });
    response.end(value === undefined ? undefined : JSON.stringify(value));
    return;
  }
  throw new Refusal(404, 'There is no such thing here');
}

async function file(pathname, response, site, policy) {
  const path = join(site, normalize(decodeURIComponent(pathname === '/' ? '/index.html' : pathname)));
  const found = path.startsWith(site) ? await stat(path).catch(() => undefined) : undefined;
  if (!found?.isFile()) throw new Refusal(404, 'There is no such thing here');
  response.writeHead(200, {
    'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream',
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
  });
  createReadStream(path).pipe(response);
}

function answer(response, thrown) {
  // The client has disconnected.
  if (response.destroyed) return;
  const isRefusal = thrown instanceof Refusal;
  if (!isRefusal) console.error(thrown);
  response.writeHead(isRefusal ? thrown.status : 500, { 'Content-Type': 'application/json', Connection: 'close' });
  response.end(JSON.stringify({ error: isRefusal ? thrown.message : 'The server has failed; try again' }));
}
