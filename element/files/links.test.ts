// Links to images on servers.

import { DecantError, type HttpOptions } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import { addressIn, Link, linked, typedAddress } from './input-file.js';

let answer: () => Promise<unknown>;
const asked: HttpOptions[] = [];

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  httpSource: (_url: URL, options: HttpOptions) => {
    asked.push(options);
    return answer();
  },
}));

beforeEach(() => {
  asked.length = 0;
});

for (const [text, address] of [
  ['https://example.org/disk.qcow2', 'https://example.org/disk.qcow2'],
  ['  HTTP://example.org \n', 'http://example.org/'],
  ['https://example.org/a disk', undefined],
  ['https://a.org https://b.org', undefined],
  ['ftp://example.org/disk', undefined],
  ['file:///etc/passwd', undefined],
  ['javascript:alert(1)', undefined],
  ['example.org/disk', undefined],
  ['https://', undefined],
  ['https://[', undefined],
  ['', undefined],
] as const) {
  test(`the URL in ${JSON.stringify(text)} is ${address ?? 'none'}`, () => expect(addressIn(text)?.href).toBe(address));
}

for (const [text, address] of [
  ['https://example.com/a.qcow2', 'https://example.com/a.qcow2'],
  [' example.com/a.qcow2 ', 'https://example.com/a.qcow2'],
  ['10.0.0.1:8000/disk.vmdk', 'https://10.0.0.1:8000/disk.vmdk'],
  ['nonsense', undefined],
  ['disk.qcow2', undefined],
  ['javascript:alert(1)', undefined],
  ['two words.com/x', undefined],
] as const) {
  test(`who types ${JSON.stringify(text)} means ${address ?? 'no link'}`, () =>
    expect(typedAddress(text)?.href).toBe(address));
}

for (const [url, name] of [
  ['https://example.org/images/disk.qcow2?token=1#x', 'disk.qcow2'],
  ['https://example.org/images/disk/', 'disk'],
  ['https://example.org:8080/', 'example.org:8080'],
  ['https://example.org/a%20disk.img', 'a disk.img'],
  ['https://example.org/100%.img', '100%.img'],
] as const) {
  test(`the image at ${url} is called '${name}'`, () => {
    const { file, link } = linked(new URL(url));
    expect(file.name).toBe(name);
    expect(file.size).toBe(0);
    expect(link?.url.href).toBe(new URL(url).href);
  });
}

const { signal } = new AbortController();
const url = new URL('https://example.org/disk');

test('a server is asked once, and again after renew()', async () => {
  let number = 0;
  answer = async () => ++number;
  const link = new Link(url);
  expect(await Promise.all([link.source(signal), link.source(signal)])).toEqual([1, 1]);
  // The person decides how long to wait for a network that is down.
  expect(asked).toMatchObject([{ signal, patience: Number.POSITIVE_INFINITY }]);
  link.renew();
  expect(await link.source(signal)).toBe(2);
});

test('waiting is reported to the current listener', async () => {
  answer = async () => 'here';
  const link = new Link(url);
  await link.source(signal);
  const waiting = { host: 'example.org', attempt: 3, status: 503 };
  asked[0]!.onWaiting!(waiting);
  const reported: unknown[] = [];
  link.onWaiting = (waiting) => reported.push(waiting);
  asked[0]!.onWaiting!(waiting);
  asked[0]!.onWaiting!(undefined);
  expect(reported).toEqual([waiting, undefined]);
});

test('a file on a server without range support is streamed', async () => {
  answer = () => Promise.reject(new DecantError('unsupported', 'The server sends only whole files'));
  expect(await new Link(url).source(signal)).toBe(url);
});

test('after a failure the server is asked again', async () => {
  const link = new Link(url);
  answer = () => Promise.reject(new DecantError('source', 'The server answers 503'));
  await expect(link.source(signal)).rejects.toThrow('503');
  answer = async () => 'here';
  expect(await link.source(signal)).toBe('here');
});
