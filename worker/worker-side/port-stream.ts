// A custom stream inside a coordinator: requests its bytes from the calling side, in order.

import { PortSource } from './port-source.js';
import type { CustomStream } from './worker-host.js';

export class PortStream implements CustomStream {
  readonly #source: PortSource;
  #position = 0;

  constructor(port: MessagePort) {
    this.#source = new PortSource(port, Number.MAX_SAFE_INTEGER, false);
  }

  async next(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.#source.fetch(this.#position, length);
    this.#position += bytes.length;
    return bytes;
  }
}
