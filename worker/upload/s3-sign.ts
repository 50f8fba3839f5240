// Presigned URLs: by keys, or as a caller's function gives them. Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters".

import { AwsV4Signer } from 'aws4fetch';
import { DecantError } from '../errors/errors.js';
import { addressIn, decoded } from '../http/address.js';
import { methodAndQuery } from './s3-requests.js';
import type { S3Keys, S3Request } from './s3-types.js';

const REGION = 'us-east-1';

/** Fails with `usage` where `keys` are not what their type says. */
export function checkKeys(keys: S3Keys | undefined): void {
  const { accessKeyId, secretAccessKey, sessionToken = 'none', region = REGION } = keys ?? ({} as Partial<S3Keys>);
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey, sessionToken, region })) {
    if (typeof value === 'string' && value !== '') continue;
    throw new DecantError('usage', `'${name}' of the keys must be a text that is not empty`);
  }
}

/** Signs requests for the object at `url`. */
export function signerOf(url: string | URL, keys: S3Keys): (request: S3Request) => Promise<string> {
  return (request) => {
    const { method, query } = methodAndQuery(request);
    return presigned(url, keys, method, query);
  };
}

/** Returns a URL that is good for one method and query of the object at `url`. */
export async function presigned(url: string | URL, given: S3Keys, method: string, query: string): Promise<string> {
  const { region = REGION, ...keys } = given;
  const address = new URL(url);
  address.pathname = canonical(address.pathname);
  address.search = query;
  const signer = new AwsV4Signer({ ...keys, region, service: 's3', signQuery: true, method, url: address.href });
  return (await signer.sign()).url.href;
}

/** Returns the URL that `sign` has given. Fails where it is none: another attempt would be of no use. */
export function signedUrl(given: unknown): string {
  const url = addressIn(given);
  if (url) return url.href;
  const what =
    typeof given === 'string' ? 'a text that is none' : `a value of type ${given === null ? 'null' : typeof given}`;
  throw new DecantError(
    'target',
    `'sign' must resolve to the URL of the request, and has resolved to ${what}; check the answer of your server`,
    { code: 'invalid-signed-url' },
  );
}

/**
 * The path as it is signed, so that it is sent so: the signer and servers take other spellings for other keys, a literal `+` for
 * a space.
 */
function canonical(path: string): string {
  const encoded = encodeURIComponent(decoded(path)).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return encoded.replaceAll('%2F', '/');
}
