// Presigned URLs.

import { createHash, createHmac } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { methodAndQuery, presigned, signedUrl, signerOf } from './s3-sign.js';
import type { S3Request } from './upload-options.js';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const part = { action: 'part', uploadId: 'a&<', partNumber: 1 } as const;
const paramsOf = async (signing: Promise<string>) => Object.fromEntries(new URL(await signing).searchParams);

test('the example of the Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters"', async () => {
  vi.useFakeTimers({ now: Date.UTC(2013, 4, 24), toFake: ['Date'] });
  const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
  const url = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
  expect(await paramsOf(presigned(url, keys, 'GET', ''))).toMatchObject({
    'X-Amz-Signature': 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  });
});

test('a URL has the query of its request and a signature, for the default region', async () => {
  vi.useFakeTimers({ now: Date.UTC(2013, 4, 24), toFake: ['Date'] });
  const signed = await signerOf(new URL('https://bucket.s3.amazonaws.com/a disk.img'), KEYS)(part);
  expect(new URL(signed).pathname).toBe('/a%20disk.img');
  expect(await paramsOf(Promise.resolve(signed))).toEqual({
    partNumber: '1',
    uploadId: 'a&<',
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': 'public/20130524/us-east-1/s3/aws4_request',
    'X-Amz-Date': '20130524T000000Z',
    'X-Amz-Expires': '86400',
    'X-Amz-SignedHeaders': 'host',
    'X-Amz-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test('region and session are in it if given, the secret never', async () => {
  const keys = { ...KEYS, region: 'eu-north-1', sessionToken: 'token' };
  const signed = await signerOf(new URL('https://bucket.example/disk'), keys)(part);
  expect(await paramsOf(Promise.resolve(signed))).toMatchObject({
    'X-Amz-Credential': expect.stringMatching(/^public\/\d+\/eu-north-1\/s3\//),
    'X-Amz-Security-Token': 'token',
  });
  expect(signed).not.toContain('secret');
});

test('action, number and keys change the signature', async () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const url = new URL('https://bucket.example/disk');
  const signatures = await Promise.all([
    signerOf(url, KEYS)(part),
    signerOf(url, KEYS)({ ...part, action: 'abort' }),
    signerOf(url, KEYS)({ ...part, partNumber: 2 }),
    signerOf(url, { ...KEYS, secretAccessKey: 'another' })(part),
  ]);
  expect(new Set(signatures.map((signed) => new URL(signed).searchParams.get('X-Amz-Signature'))).size).toBe(4);
});

test.each<[S3Request, string]>([
  [{ action: 'create' }, 'POST uploads='],
  [{ action: 'part', uploadId: 'a&b', partNumber: 7 }, 'PUT partNumber=7&uploadId=a%26b'],
  [{ action: 'list', uploadId: 'a', partNumberMarker: 0 }, 'GET part-number-marker=0&uploadId=a'],
  [{ action: 'complete', uploadId: 'a' }, 'POST uploadId=a'],
  [{ action: 'abort', uploadId: 'a' }, 'DELETE uploadId=a'],
  [{ action: 'head' }, 'HEAD '],
])('%o: %s', (request, expected) => {
  const { method, query } = methodAndQuery(request);
  expect(`${method} ${query}`).toBe(expected);
});

test.each<[unknown, string]>([
  ['https://bucket/disk?sig=1', 'https://bucket/disk?sig=1'],
  [new URL('https://bucket/disk'), 'https://bucket/disk'],
  ['/sign/7?x', 'https://page/sign/7?x'],
  ['7', 'https://page/folder/7'],
  ['//other/7', 'https://other/7'],
])("on a page, 'sign' gives %s: %s", (given, expected) => {
  vi.stubGlobal('location', { href: 'https://page/folder/' });
  expect(signedUrl(given)).toBe(expected);
});

test.each<[unknown, string]>([
  [undefined, 'a value of type undefined'],
  [null, 'a value of type null'],
  [{ url: 'https://secret/' }, 'a value of type object'],
  [403, 'a value of type number'],
  ['/relative?secret', 'an invalid one'],
  ['ftp://secret/', 'an invalid one'],
  ['http://[secret', 'an invalid one'],
  ['', 'an invalid one'],
])("in Node, 'sign' must not give %o", (given, what) => {
  const message = `'sign' must resolve to a URL, but resolved to ${what}; check the response of your server`;
  expect(() => signedUrl(given)).toThrow(
    expect.objectContaining({ kind: 'target', code: 'invalid-signed-url', message }),
  );
});

/** The signature of Signature Version 4 for a path that is sent as `path`, computed as the reference says. */
function signatureOf(signed: string, secret: string): string {
  const { host, pathname, searchParams } = new URL(signed);
  const [date, time] = [searchParams.get('X-Amz-Date')!.slice(0, 8), searchParams.get('X-Amz-Date')!];
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map((pair) => pair.map(encode).join('='))
    .toSorted()
    .join('&');
  const request = ['PUT', pathname, query, `host:${host}\n`, 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const scope = `${date}/us-east-1/s3/aws4_request`;
  const digest = createHash('sha256').update(request).digest('hex');
  const key = ['us-east-1', 's3', 'aws4_request'].reduce(
    (key, part) => createHmac('sha256', key).update(part).digest(),
    createHmac('sha256', `AWS4${secret}`).update(date).digest(),
  );
  return createHmac('sha256', key).update(['AWS4-HMAC-SHA256', time, scope, digest].join('\n')).digest('hex');
}

test.each([
  ['/a+b.img', '/a%2Bb.img'],
  ['/a%2Bb.img', '/a%2Bb.img'],
  ['/a b.img', '/a%20b.img'],
  ['/a%20b.img', '/a%20b.img'],
  ["/it's (1)!*.img", '/it%27s%20%281%29%21%2A.img'],
  ['/ä/ö~_-.img', '/%C3%A4/%C3%B6~_-.img'],
  ['/a%2Fb.img', '/a/b.img'],
  ['/100%.img', '/100%25.img'],
  ['/a=b&c@d:e,f;g$', '/a%3Db%26c%40d%3Ae%2Cf%3Bg%24'],
])('the path %s is sent as it is signed', async (path, sent) => {
  const signed = await signerOf(new URL(`https://bucket.s3.amazonaws.com${path}`), KEYS)(part);
  expect(new URL(signed).pathname).toBe(sent);
  expect(new URL(signed).searchParams.get('X-Amz-Signature')).toBe(signatureOf(signed, 'secret'));
});
