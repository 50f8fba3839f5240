// The location at which an upload continues: the disk never leaves https for http, and headers stay with their origin.

import { expect, test } from 'vitest';
import { gcsTarget, tusTarget } from './index.js';
import type { UploadOptions } from './upload-options.js';
import { failure, planOf } from './uploads.test-support.js';

const DISK = new Uint8Array(8).fill(7);
const FROM = 'https://host/files';
const ITSELF = 'is the address of the request itself';
const TARGETS = {
  tus: (from: string, options: UploadOptions) => tusTarget({ url: from, ...options }),
  gcs: (from: string, options: UploadOptions) => gcsTarget({ url: from, ...options }),
};

/** Uploads to a server that answers with `location`; resolves to the later requests, and the failure. */
async function uploadVia(kind: keyof typeof TARGETS, from: string, location: string, options: UploadOptions = {}) {
  const asked: { url: string; headers: Headers }[] = [];
  const fetch = async (url: string | URL | Request, { method, headers }: RequestInit = {}) => {
    if (method === 'POST') {
      return new Response(null, { status: kind === 'tus' ? 201 : 200, headers: { Location: location } });
    }
    asked.push({ url: String(url), headers: new Headers(headers) });
    if (kind === 'gcs') return Response.json({ size: '8' });
    const offset = method === 'HEAD' || method === 'PATCH' ? '8' : '0';
    return new Response(null, {
      status: method === 'HEAD' ? 200 : 204,
      headers: { 'Upload-Offset': offset, 'Upload-Length': '8' },
    });
  };
  let code: unknown;
  const target = TARGETS[kind](from, { fetch, ...options });
  const failed = await failure(
    (async () => {
      await target.open!(planOf(Buffer.from(DISK)));
      await target.write(0, DISK);
      await target.close();
    })().catch((thrown) => {
      code = thrown.code;
      throw thrown;
    }),
  );
  return { asked, failed, code };
}

for (const kind of ['tus', 'gcs'] as const) {
  test.for([
    ['/files/7', 'https://host/files/7'],
    ['http://host/files/7', 'https://host/files/7'],
    ['http://user:secret@host/files/7', 'https://host/files/7'],
    ['https://other/files/7', 'https://other/files/7'],
  ] as const)(`${kind}: an upload that continues at %s goes to %s`, async ([location, url]) => {
    const { asked, failed } = await uploadVia(kind, FROM, location);
    expect(failed).toBe('nothing failed');
    expect(new Set(asked.map((one) => one.url))).toEqual(new Set([url]));
  });

  test.for([
    ['http://other/files/7', 'leads from https to http, where others can read and change the data'],
    ['http://host:8080/files/7', 'leads from https to http, where others can read and change the data'],
    ['ftp://host/files/7', 'leads to an address of ftp:'],
    ['http://[secret', 'is not a valid address'],
    ['', ITSELF],
    ['#part', ITSELF],
    [FROM, ITSELF],
    ['http://host/files/', ITSELF],
    ['https://me:secret@host/./files/', ITSELF],
  ] as const)(`${kind}: an upload does not continue at %s`, async ([location, reason]) => {
    const { asked, failed, code } = await uploadVia(kind, FROM, location);
    expect(code).toBe(reason.includes('https to http') ? 'leaves-https' : 'invalid-location');
    expect(failed).toBe(`Could not upload to '${FROM}': the server's Location header ${reason}`);
    expect(asked).toEqual([]);
  });

  test.for([
    ['/files/7', ''],
    ['https://other:8080/files/7', ', continued at other:8080'],
  ] as const)(`${kind}: a failure names the host of the upload that continues at %s`, async ([location, place]) => {
    const fetch = async (_: string | URL | Request, { method }: RequestInit = {}) =>
      method === 'POST'
        ? new Response(null, { status: kind === 'tus' ? 201 : 200, headers: { Location: location } })
        : new Response(null, { status: 400 });
    const { failed } = await uploadVia(kind, FROM, location, { fetch });
    expect(failed).toBe(`Could not upload to '${FROM}'${place}: the server answered 400`);
  });

  test.for([
    ['/files/7', true],
    ['http://host/files/7', true],
    ['https://other/files/7', false],
  ] as const)(`${kind}: user and password of the address go to %s: %s`, async ([location, isSent]) => {
    const { asked, failed } = await uploadVia(kind, 'https://me:pass@host/files', location, { headers: [] });
    expect(failed).toBe('nothing failed');
    const basic = isSent ? `Basic ${btoa('me:pass')}` : null;
    expect(new Set(asked.map(({ headers }) => headers.get('Authorization')))).toEqual(new Set([basic]));
  });
}
