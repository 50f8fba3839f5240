import { expect, test, vi } from 'vitest';
import { addressOf, lastingQuery } from './address.js';
import { isHttp } from './http-url.js';

test.for([
  ['https://host/disk', true],
  ['HTTP://host/disk', true],
  [new URL('http://host/'), true],
  [new URL('file:///disk'), false],
  ['file:///disk', false],
  ['ftp://host/disk', false],
  ['/disk', false],
  ['disk.qcow2', false],
  ['https:/disk', false],
  [7, false],
  [null, false],
] as const)('%s is an http or https URL: %s', ([value, is]) => {
  expect(isHttp(value)).toBe(is);
});

test.for([
  ['https://host/a/disk.qcow2?token=secret#part', 'https://host/a/disk.qcow2', 'disk.qcow2'],
  ['https://me:secret@host:8080/a/b/', 'https://host:8080/a/b/', 'b'],
  ['https://host', 'https://host/', 'host'],
  ['https://host:8080/', 'https://host:8080/', 'host:8080'],
  ['https://host/my%20disk%C3%A4.raw', 'https://host/my%20disk%C3%A4.raw', 'my diskä.raw'],
  ['https://host/100%.raw', 'https://host/100%.raw', '100%.raw'],
] as const)('%s: the shown URL, and the name', ([given, shown, name]) => {
  expect(addressOf(given)).toMatchObject({ shown, name });
  expect(addressOf(new URL(given))).toMatchObject({ shown, name });
});

test('requests keep the query, and drop fragment, user and password', () => {
  const { url } = addressOf('https://me:secret@host/disk?token=secret#part');
  expect(url.href).toBe('https://host/disk?token=secret');
});

test.for([
  ['https://host/', undefined],
  ['https://me@host/', 'me:'],
  ['https://:secret@host/', ':secret'],
  ['https://me:p%C3%A4ss%3A@host/', 'me:päss:'],
  ['https://me:100%@host/', 'me:100%'],
] as const)('%s: user and password', ([given, userinfo]) => {
  const basic = userinfo && `Basic ${Buffer.from(userinfo).toString('base64')}`;
  expect(addressOf(given).authorization).toBe(basic);
});

test.for(['http://', 'https://:1', 'http://[x', 'ftp://secret/', '/secret', ''])('%s is not a URL', (given) => {
  const message = 'The address must be a URL of http or https';
  expect(() => addressOf(given)).toThrow(expect.objectContaining({ kind: 'usage', message }));
});

test.for([undefined, null, 5, {}, ['https://host/']])('%o is not a URL, also on a page', (given) => {
  vi.stubGlobal('location', { href: 'https://page/' });
  expect(() => addressOf(given as string)).toThrow(expect.objectContaining({ kind: 'usage', code: 'invalid-url' }));
});

test('on a page an address may be relative', () => {
  vi.stubGlobal('location', { href: 'https://page/folder/index.html' });
  expect(addressOf('disk.raw').url.href).toBe('https://page/folder/disk.raw');
});

test.for([
  ['id=7&v=2', 'id=7&v=2'],
  ['id=7&X-Amz-Date=1&X-Amz-Signature=2&x-amz-security-token=3', 'id=7'],
  ['AWSAccessKeyId=1&Signature=2&Expires=3', ''],
  ['Policy=1&Key-Pair-Id=2&id=7', 'id=7'],
  ['GoogleAccessId=1&X-Goog-Expires=2&generation=5', 'generation=5'],
  ['sv=1&st=2&se=3&sr=b&sp=r&sig=4&spr=https&sip=5&ss=b&srt=o', ''],
  ['skoid=1&sktid=2&skt=3&ske=4&sks=b&skv=5&rscd=a&rsct=b&saoid=6&suoid=7&scid=8&sdd=9&ses=1', ''],
  ['snapshot=1&sig=2&versionid=3', 'snapshot=1&versionid=3'],
  ['signatures=1&policy2=2&sx=3', 'signatures=1&policy2=2&sx=3'],
] as const)('without its signature, %s is %s', ([query, lasting]) => {
  expect(new URLSearchParams(lastingQuery(new URL(`https://host/disk?${query}`))).toString()).toBe(lasting);
});
