// Images on servers, as the arguments name them.

import { addressOf, isHttp } from '../http/address.js';
import { httpSource } from '../node.js';
import { isAddress, shownAddress } from '../secrets.js';
import type { Input } from '../types.node.js';
import { readHeaders } from './header-file.js';

export class Remote {
  /** Where the headers go. */
  #origin: string | undefined;

  private constructor(private readonly headers: [string, string][]) {}

  /** With the headers of `file`, if there is one. */
  static async read(file: string | undefined, signal: AbortSignal): Promise<Remote> {
    return new Remote(await readHeaders(file, signal));
  }

  /** What `open` takes for the argument. The headers go to the server of the first address only. */
  async input(argument: string, signal: AbortSignal): Promise<Input> {
    if (!isHttp(argument)) return argument;
    const { origin } = addressOf(argument).url;
    this.#origin ??= origin;
    if (origin !== this.#origin || this.headers.length === 0) return argument;
    return httpSource(argument, { signal, headers: this.headers });
  }
}

/** `argument` as it may be printed: an address without what may be secret. */
export const shownInput = (argument: string): string => (isAddress(argument) ? shownAddress(argument) : argument);
