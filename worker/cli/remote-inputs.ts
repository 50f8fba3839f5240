// Images on servers, as the arguments name them.

import { isAddress, shownAddress } from '../errors/secrets.js';
import { addressOf, isHttp } from '../http/address.js';
import type { AddressOptions } from '../http/http-types.js';
import { httpSource } from '../node.js';
import type { Input } from '../public/types.node.js';

export class RemoteInputs {
  /** Where the headers go. */
  #origin: string | undefined;

  constructor(
    private readonly headers: [string, string][],
    private readonly options: AddressOptions,
  ) {}

  /** What `open` takes for the argument. The headers go to the server of the first address only. */
  async input(argument: string): Promise<Input> {
    if (!isHttp(argument)) return argument;
    const { origin } = addressOf(argument).url;
    this.#origin ??= origin;
    if (origin !== this.#origin || this.headers.length === 0) return argument;
    return httpSource(argument, { ...this.options, headers: this.headers });
  }
}

/** `argument` as it may be printed: an address without what may be secret. */
export const shownInput = (argument: string): string => (isAddress(argument) ? shownAddress(argument) : argument);
