// URLs of files on servers.

import { orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { isOf } from '../errors/values.js';

const HTTP = /^https?:\/\//i;

/** Whether `value` is an http or https URL. */
export const isHttp = (value: unknown): value is string | URL =>
  (typeof value === 'string' && HTTP.test(value)) || (value instanceof URL && HTTP.test(value.href));

/** Whether both are http or https URLs, of one server. */
export const haveSameOrigin = (one: unknown, other: unknown): boolean =>
  isHttp(one) && isHttp(other) && originOf(one) === originOf(other);

/** `undefined` for an invalid URL. */
const originOf = (url: string | URL): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined);

export interface Address {
  /** Without user and password. */
  url: URL;
  /** The `Authorization` header made of the URL's user and password. */
  authorization: string | undefined;
  /** For messages: without user and query, which may hold secrets. */
  shown: string;
  /** The last segment of the path, for messages and output names; the host if the path is empty. */
  name: string;
}

/**
 * Parses an http or https URL, on a page relative to it. Fails with `usage` for anything else. The message does not repeat
 * `given`, which may hold secrets.
 */
export function addressOf(given: string | URL): Address {
  const url = orUsageError('the address', () => addressIn(given));
  if (!url) throw new DecantError('usage', 'The address must be an http or https URL', { code: 'invalid-url' });
  const { username, password } = url;
  url.username = '';
  url.password = '';
  url.hash = '';
  const last = url.pathname.split('/').findLast((part) => part !== '');
  return {
    url,
    authorization: username || password ? basic(username, password) : undefined,
    shown: url.origin + url.pathname,
    name: last === undefined ? url.host : decoded(last),
  };
}

/** Parses an http or https URL, on a page relative to it. Returns `undefined` for anything else. */
export function addressIn(given: unknown): URL | undefined {
  if (typeof given !== 'string' && !isOf<URL>(given, 'URL')) return undefined;
  const base = typeof location === 'undefined' ? undefined : location.href;
  if (!URL.canParse(given, base)) return undefined;
  const url = new URL(given, base);
  return isHttp(url) ? url : undefined;
}

function basic(user: string, password: string): string {
  const bytes = new TextEncoder().encode(`${decoded(user)}:${decoded(password)}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** Decodes percent encoding; returns a text with invalid encoding unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
