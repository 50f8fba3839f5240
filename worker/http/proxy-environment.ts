// Which proxy the environment names for an address, as curl and others read it.

import { BlockList, isIP } from 'node:net';
import { DecantError } from '../errors/errors.js';

type ProxyEnvironment = Record<string, string | undefined>;

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };
/** The kinds of proxies that are spoken. */
const SCHEMES = ['http:', 'https:', 'socks:', 'socks5:'];
/** Where one lies that is named without a kind and a port. */
const DEFAULT_PROXY_PORT = '1080';

/** Whether it names any. */
export const namesProxy = (env: ProxyEnvironment): boolean =>
  proxyVariable('http:', env) !== '' || proxyVariable('https:', env) !== '';

/** Undefined where the address is asked directly. Fails with `usage` where what is named is no proxy. */
export function proxyFor(url: URL, env: ProxyEnvironment): URL | undefined {
  const named = proxyVariable(url.protocol, env);
  if (named === '' || isExcepted(url, env.no_proxy ?? env.NO_PROXY ?? '')) return undefined;
  return parse(named);
}

function proxyVariable(protocol: string, env: ProxyEnvironment): string {
  const forHttp = env.http_proxy ?? env.HTTP_PROXY ?? '';
  return (protocol === 'https:' ? (env.https_proxy ?? env.HTTPS_PROXY ?? forHttp) : forHttp).trim();
}

/** `host:port` is one of http. No message shows what was named: it may have a password. */
function parse(named: string): URL {
  const hasKind = /^[a-z][a-z\d+.-]*:\/\//i.test(named);
  const text = hasKind ? named : `http://${named}`;
  if (!URL.canParse(text)) throw new DecantError('usage', 'The environment names a proxy that is no address');
  const url = new URL(text);
  if (!SCHEMES.includes(url.protocol)) {
    throw new DecantError(
      'usage',
      `The environment names a proxy of ${url.protocol}, and none but http, https and socks5 is used`,
    );
  }
  // The usual port of http is lost in a URL.
  if (!hasKind && url.port === '' && !/:80$/.test(named)) url.port = DEFAULT_PROXY_PORT;
  return url;
}

/** Whether `list` (NO_PROXY) has the address: names and what ends with them, addresses and ranges of these, `*`. */
function isExcepted({ protocol, hostname, port }: URL, list: string): boolean {
  const host = bare(hostname);
  const at = Number(port) || DEFAULT_PORTS[protocol];
  return list.split(/[,\s]+/).some((entry) => {
    if (entry === '') return false;
    if (entry === '*') return true;
    if (entry.includes('/')) return isWithin(host, entry);
    const [, name = '', only] = /^(\[[^\]]*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(entry) ?? [];
    return (only === undefined || Number(only) === at) && isNamed(host, name);
  });
}

function isNamed(host: string, entry: string): boolean {
  const name = bare(entry).replace(/^\*?\./, '');
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

/** Without the brackets of IPv6, and the dot behind a name. */
const bare = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

/** Whether `host` is an address in `range`, as 10.0.0.0/8. */
function isWithin(host: string, range: string): boolean {
  const [net = '', bits = ''] = range.split('/');
  const family = isIP(bare(net));
  const most = family === 4 ? 32 : 128;
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > most) return false;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const block = new BlockList();
  block.addSubnet(bare(net), Number(bits), kind);
  return block.check(host, kind);
}
