// The server of the console example, which signs the requests of pages, and a bucket that takes nothing else.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AwsV4Signer } from 'aws4fetch';
import type { Asked } from './cloud.js';
import { CORS, takeUploads, type UploadServer } from './uploads.js';

/** A module of the example, which has no types. */
const example = (name: string) => import(new URL(`../../examples/console/server/${name}.js`, import.meta.url).href);

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const REGION = 'eu-north-1';

/** Whether the holder of the keys has signed this request: method, path and query. */
async function isSigned({ method, url }: Asked, origin: string): Promise<boolean> {
  const given = new URL(url, origin);
  const { searchParams } = given;
  const [signature, datetime] = ['X-Amz-Signature', 'X-Amz-Date'].map((name) => searchParams.get(name));
  const unsigned = new URL(given);
  for (const name of searchParams.keys()) if (/^X-Amz-(?!Expires)/.test(name)) unsigned.searchParams.delete(name);
  const signing = { ...KEYS, region: REGION, service: 's3', signQuery: true, method, url: unsigned.href };
  const signed = await new AwsV4Signer({ ...signing, datetime: datetime ?? '' }).sign();
  return new URL(signed.url).searchParams.get('X-Amz-Signature') === signature;
}

const DENIED = { status: 403, body: '<Error><Code>SignatureDoesNotMatch</Code></Error>' };

export interface Presigned {
  /** Of the console's server, which pages of any origin may ask. */
  console: string;
  bucket: UploadServer;
  close(): Promise<void>;
}

/** `cors` are the headers of the bucket's answers. */
export async function presigned(cors: Record<string, string>): Promise<Presigned> {
  const answer = async (asked: Asked) => ((await isSigned(asked, bucket.origin)) ? undefined : DENIED);
  const bucket: UploadServer = await takeUploads({ headers: cors, answer });
  const [{ BucketImports }, { Presigner }, { handler }] = await Promise.all(
    ['bucket', 'presign', 'routes'].map(example),
  );
  const imports = new BucketImports(new Presigner({ ...KEYS, region: REGION }), `${bucket.origin}/s3/imports/`);
  const handle = handler('/nowhere', imports, bucket.origin);
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') response.writeHead(204).end();
    else void handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await bucket.close();
  };
  return { console: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bucket, close };
}
