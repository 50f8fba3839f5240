// The address of a file on a server.

import { isOf } from '../calls/values.js';
import { DecantError } from '../errors/errors.js';

export interface Address {
  /** Without user and password. */
  url: URL;
  /** The header that stands for the user and the password of the URL. */
  authorization: string | undefined;
  /** What messages show: neither a user nor a query, which may hold secrets. */
  shown: string;
  /** The last part of the path, for messages and names of outputs. */
  name: string;
}

const HTTP = /^https?:\/\//i;

/** Whether `value` is the address of a file on a server. */
export const isHttp = (value: unknown): value is string | URL =>
  (typeof value === 'string' && HTTP.test(value)) || (value instanceof URL && HTTP.test(value.href));

/**
 * Fails with `usage` where `given` is not a URL of http or https; a page's may be relative. The message does not repeat it: it
 * may hold secrets.
 */
export function addressOf(given: string | URL): Address {
  const url = addressIn(given);
  if (!url) throw new DecantError('usage', 'The address must be a URL of http or https', { code: 'invalid-url' });
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

/** The URL of http or https that `given` is, on a page relative to it. */
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

/** Decodes percent signs; a text with one that encodes nothing stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parameters of signatures, which are others each time: of S3 and CloudFront, Google and Azure. */
const SIGNATURE_PARAMETER =
  /^(x-(amz|goog)-.*|awsaccesskeyid|googleaccessid|signature|expires|policy|key-pair-id|s[vrptseig]|sig|spr|sip|ss|srt|sdd|ses|sk(oid|tid|t|e|s|v)|s?aoid|suoid|scid|rsc[cdelt])$/i;

/** The query of an address without a signature: it may say which file is meant. */
export const lastingQuery = ({ searchParams }: URL): string[][] =>
  [...searchParams].filter(([name]) => !SIGNATURE_PARAMETER.test(name));
