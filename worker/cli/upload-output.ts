// Outputs on servers. Loaded only for uploads.

import { DecantError } from '../errors/errors.js';
import { addressOf, decoded } from '../http/address.js';
import { lastingQuery } from '../http/file-state.js';
import { HttpClient } from '../http/http-client.js';
import { environmentFetch } from '../http/node-fetch.js';
import { Retries } from '../http/retries.js';
import type { Target } from '../public/types.js';
import * as targets from '../upload/index.js';
import { isPageBlob, type UploadMethod, type UploadProtocolName } from './command-options.js';
import { readHeaders } from './secret-files.js';
import { uploadJournal } from './upload-journal.js';

export interface UploadOutput {
  url: string;
  upload: UploadProtocolName | undefined;
  /** A file with headers for the server. */
  headerFile: string | undefined;
  format: string;
  formatOptions: Record<string, string>;
  /** Writes in place into an existing page blob. */
  existing: boolean;
  /** The method of an upload by one request. */
  method: UploadMethod;
  /** Whether an upload by one request is confirmed. */
  confirm: boolean;
}

/** Makes the target of an output. Keys come from the environment, by the variables of each cloud's own tools. */
export async function uploadTarget(output: UploadOutput, signal: AbortSignal): Promise<Target> {
  const { url, upload, headerFile, format, formatOptions, existing, method, confirm } = output;
  const headers = await readHeaders(headerFile, signal);
  const proxied = await environmentFetch();
  // Without a proxy, a PUT does not use `fetch`: see `streamFetch`.
  const requests = proxied === fetch ? {} : { fetch: proxied };
  switch (upload) {
    case undefined:
      return targets.putTarget({ url, headers, ...requests, method, confirm });
    case 's3':
      if (headerFile !== undefined) throw new DecantError('usage', 'An upload to S3 takes keys, not headers');
      return targets.s3Target({ url, keys: s3Keys(), ...requests, journal: uploadJournal(url) });
    case 'gcs':
      return targets.gcsTarget({ url, headers, ...requests });
    case 'tus':
      return targets.tusTarget({ url, headers, ...requests });
    case 'azure': {
      const blob = withSignature(url);
      return isPageBlob(upload, format, formatOptions)
        ? targets.azurePageBlobTarget({ url: blob, headers, ...requests, existing })
        : targets.azureBlockBlobTarget({ url: blob, headers, ...requests });
    }
  }
}

function s3Keys() {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    const names = 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
    throw new DecantError('usage', `An upload to S3 takes keys from the environment: set ${names}`);
  }
  const region = AWS_REGION || AWS_DEFAULT_REGION;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
    ...(region ? { region } : {}),
  };
}

/** Returns the blob's URL, with the signature in the environment if it has none. */
function withSignature(url: string): URL {
  const address = new URL(url);
  const { AZURE_STORAGE_SAS_TOKEN } = process.env;
  if (AZURE_STORAGE_SAS_TOKEN && address.search === '') address.search = AZURE_STORAGE_SAS_TOKEN;
  return address;
}

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
