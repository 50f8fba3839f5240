// Addresses that a server gives: where it redirects to, and where an upload continues.

import { HttpFailure } from './http-failures.js';

const HTTP = ['http:', 'https:'];

/** Why the address that a server gives is not asked. */
class WrongLocation extends HttpFailure {
  readonly fields = {};

  constructor(
    readonly code: 'invalid-location' | 'leaves-https',
    message: string,
  ) {
    super(message);
  }
}

/**
 * Resolves `location`, which the server at `from` has given, without user and password. From https it never leads to http:
 * servers behind a proxy that ends TLS name themselves by http, so the same host keeps https. Fails for anything else that
 * leaves https, and for what is not an address of http or https. No message repeats `location`: it may hold secrets.
 */
export function locationOf(from: URL, location: string): URL {
  const text = asUtf8(location);
  if (!URL.canParse(text, from)) {
    throw new WrongLocation('invalid-location', "the server's Location header is not a valid address");
  }
  const url = new URL(text, from);
  if (!HTTP.includes(url.protocol)) {
    const message = `the server's Location header leads to an address of ${url.protocol}`;
    throw new WrongLocation('invalid-location', message);
  }
  url.username = '';
  url.password = '';
  return from.protocol === 'https:' && url.protocol === 'http:' ? secured(from, url) : url;
}

/** The same place as `url`, by https, on the host of `from`. */
function secured(from: URL, url: URL): URL {
  const isSameHost = url.hostname === from.hostname && ['', from.port].includes(url.port);
  const kept = new URL(url);
  kept.protocol = 'https:';
  kept.port = from.port;
  // A server that redirects to itself without TLS insists on it.
  if (isSameHost && kept.href !== from.href) return kept;
  throw new WrongLocation(
    'leaves-https',
    "the server's Location header leads from https to http, where others can read and change the data",
  );
}

/** Node has a character for each byte of a header; browsers take the bytes of this one for UTF-8. */
function asUtf8(header: string): string {
  const codes = Array.from(header, (character) => character.codePointAt(0)!);
  if (codes.some((code) => code > 0xff)) return header;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(codes));
  } catch {
    return header;
  }
}
