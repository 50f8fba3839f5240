// Links to images on servers.

import { DecantError, httpSource, type Input, type Waiting } from 'decant';

const ADDRESS = /^https?:\/\/\S+$/i;

/** Parses `text` as a URL of http or https; `undefined` if it is not one. */
export function addressIn(text: string): URL | undefined {
  const trimmed = text.trim();
  return ADDRESS.test(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
}

export class Link {
  #source: Promise<Input> | undefined;
  /** Called when its server keeps the reader waiting, and with `undefined` when the server has answered. */
  onWaiting: ((waiting: Waiting | undefined) => void) | undefined;

  constructor(readonly url: URL) {}

  /** The input for `open`. Asks the server once. Fails as `httpSource` does. */
  source(signal: AbortSignal): Promise<Input> {
    this.#source ??= this.#ask(signal);
    return this.#source;
  }

  /** Makes the next call of `source` ask the server again. */
  renew(): void {
    this.#source = undefined;
  }

  async #ask(signal: AbortSignal): Promise<Input> {
    try {
      // The person decides how long to wait for a network that is down.
      return await httpSource(this.url, {
        signal,
        patience: Number.POSITIVE_INFINITY,
        onWaiting: (waiting) => this.onWaiting?.(waiting),
      });
    } catch (thrown) {
      // Without range support, a large file is streamed.
      if (DecantError.is(thrown) && thrown.kind === 'unsupported') return this.url;
      this.renew();
      throw thrown;
    }
  }
}
