// Serves the page and its files by a custom scheme; no other path is served.

import { readFile } from 'node:fs/promises';

export const SCHEME = 'app';
const HOST = 'decant';
export const HOME = `${SCHEME}://${HOST}/`;

/** Whether `url` is of this application. Node's `origin` of a custom scheme is "null". */
export function isHome(url) {
  const { protocol, host } = new URL(url);
  return protocol === `${SCHEME}:` && host === HOST;
}

const JS = 'text/javascript; charset=utf-8';
const FILES = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/style.css': { file: 'style.css', type: 'text/css; charset=utf-8' },
  '/renderer.js': { file: 'renderer.js', type: JS },
  '/view.js': { file: 'view.js', type: JS },
  '/texts.js': { file: 'texts.js', type: JS },
};

/** The page may load only its own files. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Serves a request for `url`. */
export async function respond(url) {
  const { pathname } = new URL(url);
  const found = isHome(url) && Object.hasOwn(FILES, pathname) && FILES[pathname];
  if (!found) return new Response('Not found', { status: 404 });
  const headers = {
    'Content-Type': found.type,
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
  };
  return new Response(await readFile(new URL(`../renderer/${found.file}`, import.meta.url)), { headers });
}
