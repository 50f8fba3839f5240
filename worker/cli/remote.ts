// Images on servers, as the arguments name them.

import { DecantError } from '../errors.js';
import { addressOf, isHttp } from '../http/address.js';
import { httpSource } from '../node.js';
import type { Input } from '../types.node.js';
import { readSecret } from './secret-file.js';

export class Remote {
  /** Where the headers go. */
  #origin: string | undefined;

  private constructor(private readonly headers: [string, string][]) {}

  /** With the headers of `file`, if there is one: a line for each, NAME: VALUE. Fails with `usage` where one is not. */
  static async read(file: string | undefined, signal: AbortSignal): Promise<Remote> {
    if (file === undefined) return new Remote([]);
    const lines = (await readSecret(file, 'the headers', signal)).toString('utf8').split(/\r?\n/);
    const headers = lines.flatMap((line, at): [string, string][] => {
      if (line.trim() === '' || line.startsWith('#')) return [];
      const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(line) ?? [];
      // The line itself may be a secret.
      if (name === undefined) throw new DecantError('usage', `Line ${at + 1} of '${file}' is no NAME: VALUE`);
      return [[name, value!.trim()]];
    });
    return new Remote(headers);
  }

  /** What `open` takes for the argument. The headers go to the server of the first address only. */
  async input(argument: string, signal: AbortSignal): Promise<Input> {
    if (!isHttp(argument)) return argument;
    const { origin } = addressOf(argument).url;
    this.#origin ??= origin;
    return httpSource(argument, { signal, ...(origin === this.#origin ? { headers: this.headers } : {}) });
  }
}

/** `argument` as it may be printed: an address without what may be secret. */
export const shownInput = (argument: string): string => (isHttp(argument) ? addressOf(argument).shown : argument);
