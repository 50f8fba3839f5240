import { expect, test } from 'vitest';
import { namesProxy, proxyFor } from './proxy-environment.js';

const proxy = (url: string, env: Record<string, string>) => proxyFor(new URL(url), env)?.href;

test.for([
  ['http://host/', { http_proxy: 'http://proxy:3128' }, 'http://proxy:3128/'],
  ['http://host/', { HTTP_PROXY: 'http://proxy:3128' }, 'http://proxy:3128/'],
  ['http://host/', { http_proxy: '', HTTP_PROXY: 'http://proxy:3128' }, undefined],
  ['http://host/', { https_proxy: 'http://proxy:3128' }, undefined],
  ['https://host/', { https_proxy: 'http://proxy:3128', http_proxy: 'http://other' }, 'http://proxy:3128/'],
  ['https://host/', { HTTPS_PROXY: 'https://me:secret@proxy' }, 'https://me:secret@proxy/'],
  ['https://host/', { http_proxy: 'http://proxy:3128' }, 'http://proxy:3128/'],
  // As curl takes it.
  ['http://host/', { http_proxy: 'proxy:3128' }, 'http://proxy:3128/'],
  ['http://host/', { http_proxy: 'me:secret@proxy:3128' }, 'http://me:secret@proxy:3128/'],
  ['http://host/', { http_proxy: '127.0.0.1:3128' }, 'http://127.0.0.1:3128/'],
  ['http://host/', { http_proxy: '[::1]:3128' }, 'http://[::1]:3128/'],
  ['http://host/', { http_proxy: 'proxy' }, 'http://proxy:1080/'],
  ['http://host/', { http_proxy: 'proxy:80' }, 'http://proxy/'],
  ['http://host/', { http_proxy: ' socks5://proxy:1080 ' }, 'socks5://proxy:1080'],
  ['http://host/', { ALL_PROXY: 'socks5h://proxy' }, 'socks5h://proxy'],
  ['https://host/', { all_proxy: 'socks5://proxy', ALL_PROXY: 'http://other' }, 'socks5://proxy'],
  ['https://host/', { ALL_PROXY: 'http://proxy:1', http_proxy: 'http://other' }, 'http://proxy:1/'],
  ['http://host/', { ALL_PROXY: 'http://proxy:1', http_proxy: '' }, undefined],
] as [string, Record<string, string>, string | undefined][])('%s by %o goes to %s', ([url, env, expected]) => {
  expect(proxy(url, env)).toBe(expected);
});

test.for([
  'http://[secret',
  'me:secret@',
  'ftp://me:secret@proxy',
  'socks4://me:secret@proxy',
])('%s is not a proxy, and is not shown', (named) => {
  const look = () => proxy('http://host/', { http_proxy: named });
  expect(look).toThrow(expect.objectContaining({ kind: 'usage', message: expect.not.stringContaining('secret') }));
});

test.for([
  ['host', 'http://host/', true],
  ['HOST', 'http://host/', true],
  ['host', 'http://sub.host/', true],
  ['.host', 'http://sub.host/', true],
  ['*.host', 'http://sub.host/', true],
  ['host', 'http://otherhost/', false],
  ['host.', 'http://host/', true],
  ['a, host b', 'http://host/', true],
  ['*', 'http://host/', true],
  ['host:81', 'http://host:81/', true],
  ['host:81', 'http://host/', false],
  ['host:443', 'https://host/', true],
  ['127.0.0.1', 'http://127.0.0.1:8080/', true],
  ['0.0.1', 'http://127.0.0.1/', false],
  ['::1', 'http://[::1]/', true],
  ['[::1]:81', 'http://[::1]:81/', true],
  ['[::1]:81', 'http://[::1]/', false],
  // Ranges are of addresses, and names are not looked up.
  ['10.0.0.0/8', 'http://10.1.2.3/', true],
  ['10.0.0.0/8', 'http://11.1.2.3/', false],
  ['10.0.0.0/8', 'http://host/', false],
  ['192.168.1.7/32', 'http://192.168.1.7/', true],
  ['0.0.0.0/0', 'http://192.168.1.7/', true],
  ['fd00::/8', 'http://[fd12::1]/', true],
  ['fd00::/8', 'http://[fe80::1]/', false],
  ['fd00::/8', 'http://10.1.2.3/', false],
  ['10.0.0.0/33', 'http://10.0.0.1/', false],
  ['10.0.0.0/x', 'http://10.0.0.1/', false],
  ['', 'http://host/', false],
] as const)('NO_PROXY=%s: %s goes directly: %s', ([list, url, isDirect]) => {
  expect(proxy(url, { http_proxy: 'http://proxy', NO_PROXY: list }) === undefined).toBe(isDirect);
});

test('whether the environment has a proxy', () => {
  expect(namesProxy({})).toBe(false);
  expect(namesProxy({ http_proxy: '', no_proxy: 'host' })).toBe(false);
  expect(namesProxy({ HTTPS_PROXY: 'proxy' })).toBe(true);
});
