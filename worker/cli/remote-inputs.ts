// Images on servers.

import { isAddress, shownAddress } from '../errors/secrets.js';
import { addressOf, isHttp } from '../http/address.js';
import type { AddressOptions } from '../http/http-types.js';
import { httpSource } from '../node.js';
import type { Input } from '../public/types.node.js';

export class RemoteInputs {
  /** The origin that gets the headers. */
  #origin: string | undefined;

  constructor(
    private readonly headers: [string, string][],
    private readonly options: AddressOptions,
  ) {}

  /** Returns the argument, or its source with headers if it is a URL with the origin of the first URL. */
  async input(argument: string): Promise<Input> {
    if (!isHttp(argument)) return argument;
    const { origin } = addressOf(argument).url;
    this.#origin ??= origin;
    if (origin !== this.#origin || this.headers.length === 0) return argument;
    return httpSource(argument, { ...this.options, headers: this.headers });
  }
}

/** Returns `argument` for messages: a URL without its secrets. */
export const shownInput = (argument: string): string => (isAddress(argument) ? shownAddress(argument) : argument);
