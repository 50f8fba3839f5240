import { expect, test, vi } from 'vitest';
import { addressOf, isHttp } from './address.js';

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
  const message = 'The address must be an http or https URL';
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
