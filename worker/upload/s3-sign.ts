// Presigned URLs by keys. Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters".

import { AwsV4Signer } from 'aws4fetch';
import type { S3Keys, S3Request } from './s3-types.js';

const REGION = 'us-east-1';

/** Signs requests for the object at `url`. */
export function signerOf(url: URL, { region = REGION, ...keys }: S3Keys): (request: S3Request) => Promise<string> {
  return async ({ method, query }) => {
    const address = new URL(url);
    address.search = query;
    const signer = new AwsV4Signer({ ...keys, region, service: 's3', signQuery: true, method, url: address.href });
    return (await signer.sign()).url.href;
  };
}
