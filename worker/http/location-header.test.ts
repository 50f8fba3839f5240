import { expect, test } from 'vitest';
import { locationOf } from './location-header.js';

test.for([
  // Resolved against the address that was asked.
  ['https://host/a/b?c', '/d?e', 'https://host/d?e'],
  ['https://host/a/b?c', 'd', 'https://host/a/d'],
  ['http://host/a', '//other/b', 'http://other/b'],
  ['https://host/a', 'https://other:8443/b', 'https://other:8443/b'],
  ['http://host/a', 'https://other/b', 'https://other/b'],
  ['http://host/a', 'http://other:8080/b', 'http://other:8080/b'],
  // Bytes of UTF-8, as Node has them; bytes of Latin-1; characters.
  ['https://host/a', '/Gr\u00c3\u00b6\u00c3\u009fe', 'https://host/Gr%C3%B6%C3%9Fe'],
  ['https://host/a', '/Gr\u00f6\u00dfe', 'https://host/Gr%C3%B6%C3%9Fe'],
  ['https://host/a', '/\u78c1\u76d8', 'https://host/%E7%A3%81%E7%9B%98'],
  // User and password are removed.
  ['https://host/a', 'https://me:secret@other/b', 'https://other/b'],
  // A redirect to http on the same host becomes https.
  ['https://host/a', 'http://host/b?c=d', 'https://host/b?c=d'],
  ['https://host/a', 'http://HOST:80/b', 'https://host/b'],
  ['https://host/a', 'http://me:secret@host/b', 'https://host/b'],
  ['https://host:8443/a', 'http://host:8443/b', 'https://host:8443/b'],
  ['https://host:8443/a', 'http://host/b', 'https://host:8443/b'],
  ['https://host/a', 'http://host//b/c', 'https://host//b/c'],
] as const)('from %s to %s: %s', ([from, location, expected]) => {
  expect(locationOf(new URL(from), location).href).toBe(expected);
});

const LEAVES = "the server's Location header leads from https to http, where others can read and change the data";

test.for([
  ['https://host/a', 'http://other/b', LEAVES],
  ['https://host/a', 'http://sub.host/b', LEAVES],
  ['https://host/a', 'http://host:8080/b', LEAVES],
  ['https://host:8443/a', 'http://host:8080/b', LEAVES],
  ['https://host/a', 'http://host/a', LEAVES],
  ['https://host/a', 'ftp://host/secret', "the server's Location header leads to an address of ftp:"],
  ['https://host/a', 'javascript:secret', "the server's Location header leads to an address of javascript:"],
  ['https://host/a', 'http://[secret', "the server's Location header is not a valid address"],
] as const)('from %s to %s is refused', ([from, location, message]) => {
  const code = message === LEAVES ? 'leaves-https' : 'invalid-location';
  expect(() => locationOf(new URL(from), location)).toThrow(expect.objectContaining({ code, message }));
});
