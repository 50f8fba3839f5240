// The Location header: where a server redirects to, or continues an upload.

import { CodedFailure } from '../errors/errors.js';

const HTTP = ['http:', 'https:'];

/** A Location that is not followed. */
class WrongLocation extends CodedFailure {
  readonly fields = {};

  constructor(
    readonly code: 'invalid-location' | 'leaves-https',
    message: string,
  ) {
    super(message);
  }
}

/**
 * Resolves the header `location` of the server at `from`, and removes user and password. Fails if it is not an http or https
 * URL, or leaves https for http. http on the same host becomes https: a server after a proxy that ends TLS names itself by
 * http. Messages do not repeat `location`, which may hold secrets.
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

/**
 * Resolves the header `location` of the server at `from`, as `locationOf` does, for a resource that the server has made. Fails if it
 * is `from` itself: a request that removes the resource would remove that.
 */
export function madeLocationOf(from: URL, location: string): URL {
  const url = locationOf(from, location);
  const isItself = bare(url) === bare(from) && ['', from.search].includes(url.search);
  if (!isItself) return url;
  throw new WrongLocation('invalid-location', "the server's Location header is the address of the request itself");
}

/** Origin and path, without a slash at the end. */
const bare = ({ origin, pathname }: URL): string => origin + pathname.replace(/\/+$/, '');

/** Changes `url` to https, if it is on the host of `from`. */
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

/** Decodes a header whose characters are bytes of UTF-8, as in Node; browsers decode it themselves. */
function asUtf8(header: string): string {
  const codes = Array.from(header, (character) => character.codePointAt(0)!);
  if (codes.some((code) => code > 0xff)) return header;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(codes));
  } catch {
    return header;
  }
}
