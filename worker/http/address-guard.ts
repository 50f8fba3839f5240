// Node: requests that connect only to allowed addresses.

import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressGuard } from './http-client.js';
import type { Fetch } from './http-types.js';
import { undecodedFetch } from './undecoded-fetch.js';

/** The host name, or the address; of IPv6 without brackets. */
const nameOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** Makes a guard that allows nothing yet. Its requests bypass proxies, which resolve names themselves. */
export async function makeGuard(): Promise<AddressGuard> {
  const { Agent, fetch } = await import('undici');
  const allowed = new Map<string, string[]>();
  const lookUp: LookupFunction = (name, { all }, callback) => {
    const addresses = (allowed.get(name) ?? []).map((address) => ({ address, family: isIP(address) }));
    const [first] = addresses;
    if (!first) callback(new Error(`${name} is not allowed`), []);
    else if (all) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
  const dispatcher = new Agent({ connect: { lookup: lookUp } });
  const ask = (url: string | URL, init: object) => fetch(url, { ...init, dispatcher });
  return {
    async resolve(url) {
      const name = nameOf(url);
      return isIP(name) ? [name] : (await lookup(name, { all: true })).map(({ address }) => address);
    },
    allow: (url, addresses) => void allowed.set(nameOf(url), addresses),
    fetch: ask as unknown as Fetch,
    fetchUndecoded: await undecodedFetch(dispatcher),
  };
}
