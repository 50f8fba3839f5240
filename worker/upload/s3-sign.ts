// Presigned URLs, by keys or from a caller's function. Amazon S3 API Reference, "Authenticating Requests: Using Query
// Parameters", and the actions CreateMultipartUpload, UploadPart, ListParts, CompleteMultipartUpload, AbortMultipartUpload, HeadObject.

import { AwsV4Signer } from 'aws4fetch';
import { orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { addressIn, decoded } from '../http/address.js';
import type { S3Keys, S3Request } from './upload-options.js';

export function methodAndQuery(request: S3Request): { method: string; query: string } {
  const upload = 'uploadId' in request ? `uploadId=${encodeURIComponent(request.uploadId)}` : '';
  switch (request.action) {
    case 'create':
      return { method: 'POST', query: 'uploads=' };
    case 'part':
      return { method: 'PUT', query: `partNumber=${request.partNumber}&${upload}` };
    case 'list':
      return { method: 'GET', query: `part-number-marker=${request.partNumberMarker}&${upload}` };
    case 'complete':
      return { method: 'POST', query: upload };
    case 'abort':
      return { method: 'DELETE', query: upload };
    case 'head':
      return { method: 'HEAD', query: '' };
  }
}

const REGION = 'us-east-1';

/** Fails with `usage` unless `keys` match their type. */
export function checkKeys(keys: S3Keys | undefined): void {
  const given = orUsageError("'keys'", () => {
    const { accessKeyId, secretAccessKey, sessionToken = 'none', region = REGION } = keys ?? ({} as Partial<S3Keys>);
    return { accessKeyId, secretAccessKey, sessionToken, region };
  });
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string' && value !== '') continue;
    throw new DecantError('usage', `'${name}' of the keys must be a non-empty string`);
  }
}

/** Returns a function that signs requests for the object at `url`. */
export function signerOf(url: string | URL, keys: S3Keys): (request: S3Request) => Promise<string> {
  return (request) => {
    const { method, query } = methodAndQuery(request);
    return presigned(url, keys, method, query);
  };
}

/** Returns a presigned URL of the object at `url` for one method and query. */
export async function presigned(url: string | URL, given: S3Keys, method: string, query: string): Promise<string> {
  const { region = REGION, sessionToken, ...others } = given;
  const keys = { ...others, ...(sessionToken !== undefined && { sessionToken }) };
  const address = new URL(url);
  address.pathname = canonical(address.pathname);
  address.search = query;
  const signer = new AwsV4Signer({ ...keys, region, service: 's3', signQuery: true, method, url: address.href });
  return (await signer.sign()).url.href;
}

/** Checks the result of `sign`. Fails, without a retry, if it is not a URL. */
export function signedUrl(given: unknown): string {
  const url = addressIn(given);
  if (url) return url.href;
  const what =
    typeof given === 'string' ? 'an invalid one' : `a value of type ${given === null ? 'null' : typeof given}`;
  throw new DecantError(
    'target',
    `'sign' must resolve to a URL, but resolved to ${what}; check the response of your server`,
    { code: 'invalid-signed-url' },
  );
}

/**
 * Encodes the path as the signer does. For other spellings, the signer and servers disagree on the key: a literal `+` is a space.
 */
function canonical(path: string): string {
  const encoded = encodeURIComponent(decoded(path)).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return encoded.replaceAll('%2F', '/');
}
