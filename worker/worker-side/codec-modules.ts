// Modules of WebAssembly for codecs that few images need. The calling side loads them when the wasm asks for them.

import { type PlainError, toDecantError } from '../errors/errors.js';
import type { Methods } from '../messages/rpc.js';
import type { Codec } from '../public/types.js';

interface Request {
  bytes: Promise<Uint8Array>;
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

/** Methods for the calling side. */
export type CodecMethods = CodecModules['methods'];

export class CodecModules {
  readonly #requests = new Map<Codec, Request>();

  /** `ask` sends a request to the calling side, which answers it by one of the methods. */
  constructor(private readonly ask: (name: Codec) => void) {}

  /** Resolves to the bytes of the module `name`. Rejects if it cannot be loaded; the next call tries again. */
  load(name: Codec): Promise<Uint8Array> {
    const known = this.#requests.get(name);
    if (known) return known.bytes;
    let settle!: Pick<Request, 'resolve' | 'reject'>;
    const bytes = new Promise<Uint8Array>((resolve, reject) => {
      settle = { resolve, reject };
    });
    this.#requests.set(name, { bytes, ...settle });
    this.ask(name);
    return bytes;
  }

  readonly methods = {
    provideCodec: (name: Codec, bytes: Uint8Array): void => this.#take(name)?.resolve(bytes),
    refuseCodec: (name: Codec, error: PlainError): void => this.#take(name)?.reject(toDecantError(error)),
  } satisfies Methods;

  #take(name: Codec): Request | undefined {
    const request = this.#requests.get(name);
    this.#requests.delete(name);
    return request;
  }
}
