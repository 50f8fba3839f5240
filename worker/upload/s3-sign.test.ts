// Presigned URLs.

import { afterEach, expect, test, vi } from 'vitest';
import { signerOf } from './s3-sign.js';

afterEach(() => void vi.useRealTimers());

const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };
const part = { action: 'part', method: 'PUT', query: 'partNumber=1&uploadId=a%26%3C', partNumber: 1 } as const;
const paramsOf = async (signing: Promise<string>) => Object.fromEntries(new URL(await signing).searchParams);

test('the example of the Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters"', async () => {
  vi.useFakeTimers({ now: Date.UTC(2013, 4, 24), toFake: ['Date'] });
  const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
  const sign = signerOf(new URL('https://examplebucket.s3.amazonaws.com/test.txt'), keys);
  expect(await paramsOf(sign({ action: 'list', method: 'GET', query: '' }))).toMatchObject({
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

test('region and session are in it where they are given, and the secret never', async () => {
  const keys = { ...KEYS, region: 'eu-north-1', sessionToken: 'token' };
  const signed = await signerOf(new URL('https://bucket.example/disk'), keys)(part);
  expect(await paramsOf(Promise.resolve(signed))).toMatchObject({
    'X-Amz-Credential': expect.stringMatching(/^public\/\d+\/eu-north-1\/s3\//),
    'X-Amz-Security-Token': 'token',
  });
  expect(signed).not.toContain('secret');
});

test('method, query and keys change the signature', async () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const url = new URL('https://bucket.example/disk');
  const signatures = await Promise.all([
    signerOf(url, KEYS)(part),
    signerOf(url, KEYS)({ ...part, method: 'GET' }),
    signerOf(url, KEYS)({ ...part, query: 'partNumber=2&uploadId=a%26%3C' }),
    signerOf(url, { ...KEYS, secretAccessKey: 'another' })(part),
  ]);
  expect(new Set(signatures.map((signed) => new URL(signed).searchParams.get('X-Amz-Signature'))).size).toBe(4);
});
