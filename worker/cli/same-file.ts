// Whether the output's URL is that of the image.

import { addressOf, decoded } from '../http/address.js';
import { lastingQuery } from '../http/file-state.js';
import { HttpClient } from '../http/http-client.js';
import { environmentFetch } from '../http/node-fetch.js';
import { Retries } from '../http/retries.js';

/**
 * Whether the URL `output` is that of `image`, in any spelling, or the one to which it redirects. `readHeaders` reads the headers
 * for `image`. A server that does not answer counts as one that does not redirect.
 */
export async function isSameFile(
  output: string,
  image: string,
  readHeaders: () => Promise<[string, string][]>,
  signal: AbortSignal,
): Promise<boolean> {
  const written = identityOf(addressOf(output).url);
  if (identityOf(addressOf(image).url) === written) return true;
  const last = await redirectedUrl(image, readHeaders, signal).catch(() => undefined);
  signal.throwIfAborted();
  return last !== undefined && identityOf(last) === written;
}

/** Resolves to the URL that answers a request for `image`. */
async function redirectedUrl(
  image: string,
  readHeaders: () => Promise<[string, string][]>,
  signal: AbortSignal,
): Promise<URL> {
  const headers = await readHeaders();
  const platform = { seesRedirects: true, fetch: environmentFetch };
  const client = new HttpClient(addressOf(image), platform, { headers }, new Retries());
  const { url, end } = await client.request('GET', 'bytes=0-0', signal);
  end();
  return url;
}

/** Identifies the file of a URL, without its signature: servers decode paths, and ignore empty segments. */
function identityOf(url: URL): string {
  const path = url.pathname.split('/').filter(Boolean).map(decoded);
  return JSON.stringify([url.origin, path, lastingQuery(url)]);
}
