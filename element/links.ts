// Images on servers, by their addresses.

import { DecantError, httpSource, type Input, type Waiting } from 'decant';

const ADDRESS = /^https?:\/\/\S+$/i;

/** The address that `text` is, if it is one of http or https. */
export function addressIn(text: string): URL | undefined {
  const trimmed = text.trim();
  return ADDRESS.test(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
}

export class Link {
  #source: Promise<Input> | undefined;
  /** Called when its server is waited for, and with `undefined` when that has answered. */
  onWaiting: ((waiting: Waiting | undefined) => void) | undefined;

  constructor(readonly url: URL) {}

  /** What to open: the server is asked once. Fails as `httpSource` does. */
  source(signal: AbortSignal): Promise<Input> {
    this.#source ??= this.#ask(signal);
    return this.#source;
  }

  /** Has the server asked anew. */
  renew(): void {
    this.#source = undefined;
  }

  async #ask(signal: AbortSignal): Promise<Input> {
    try {
      // The person decides for how long a network that is gone is waited for.
      return await httpSource(this.url, {
        signal,
        patience: Number.POSITIVE_INFINITY,
        onWaiting: (waiting) => this.onWaiting?.(waiting),
      });
    } catch (thrown) {
      // A large file of a server that sends only whole files is read in order.
      if (DecantError.is(thrown) && thrown.kind === 'unsupported') return this.url;
      this.renew();
      throw thrown;
    }
  }
}
