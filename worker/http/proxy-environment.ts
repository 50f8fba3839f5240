// Proxies in environment variables, as curl reads them.

import { BlockList, isIP } from 'node:net';
import { DecantError } from '../errors/errors.js';

type ProxyEnvironment = Record<string, string | undefined>;

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };
/** SOCKS proxies resolve the names of hosts, for which curl has socks5h. */
const SCHEMES = ['http:', 'https:', 'socks:', 'socks5:', 'socks5h:'];
/** For a proxy without scheme and port. */
const DEFAULT_PROXY_PORT = '1080';

export const namesProxy = (env: ProxyEnvironment): boolean =>
  proxyVariable('http:', env) !== '' || proxyVariable('https:', env) !== '';

/** Returns the proxy for `url`, `undefined` for a direct connection. Fails with `usage` if the variable is invalid. */
export function proxyFor(url: URL, env: ProxyEnvironment): URL | undefined {
  const named = proxyVariable(url.protocol, env);
  if (named === '' || isExcepted(url, env.no_proxy ?? env.NO_PROXY ?? '')) return undefined;
  return parse(named);
}

function proxyVariable(protocol: string, env: ProxyEnvironment): string {
  const forAll = env.all_proxy ?? env.ALL_PROXY;
  const forHttp = env.http_proxy ?? env.HTTP_PROXY;
  const forHttps = env.https_proxy ?? env.HTTPS_PROXY;
  return ((protocol === 'https:' ? (forHttps ?? forAll ?? forHttp) : (forHttp ?? forAll)) ?? '').trim();
}

/** Parses a proxy; without a scheme it is http. Messages do not show it: it may have a password. */
function parse(named: string): URL {
  const hasKind = /^[a-z][a-z\d+.-]*:\/\//i.test(named);
  const text = hasKind ? named : `http://${named}`;
  if (!URL.canParse(text)) throw new DecantError('usage', 'The proxy in the environment is not a valid URL');
  const url = new URL(text);
  if (!SCHEMES.includes(url.protocol)) {
    throw new DecantError(
      'usage',
      `The proxy in the environment has the unsupported scheme ${url.protocol}//; use http, https or socks5`,
    );
  }
  // `URL` drops port 80.
  if (!hasKind && url.port === '' && !/:80$/.test(named)) url.port = DEFAULT_PROXY_PORT;
  return url;
}

/** Whether NO_PROXY matches: names with their subdomains, IP addresses, ranges, `*`, each with an optional port. */
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

/** Removes the brackets of IPv6, and the trailing dot of a name. */
const bare = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

/** Whether `host` is an address in a range such as 10.0.0.0/8. */
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
