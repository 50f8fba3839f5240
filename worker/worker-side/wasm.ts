// Instances of the wasm for each engine, and the codecs that they load from the calling side: few images need them.

import type * as Workers from 'decant-wasm/workers';
import { outOfMemory, type PlainError, toDecantError } from '../errors/errors.js';
import { CODEC_NEEDED } from '../messages/messages.js';
import { type Methods, type Port, serve } from '../messages/rpc.js';
import type { Codec } from '../public/types.js';

export type { Workers };

/** Instantiates the wasm of an engine. Throws `internal` if there is not enough memory. */
export function instantiate<Glue extends Pick<typeof Workers, 'loadModulesBy'> & { initSync(from: object): unknown }>(
  glue: Glue,
  module: WebAssembly.Module,
  codecs: CodecModules,
): Glue {
  try {
    // Not the asynchronous function: it uses `Request`, which makes Node load `fetch` (20 ms).
    glue.initSync({ module });
    glue.loadModulesBy((name: Codec) => codecs.load(name));
    return glue;
  } catch (thrown) {
    throw thrown instanceof RangeError ? outOfMemory(thrown) : thrown;
  }
}

/** A codec that was requested from the calling side. */
interface CodecRequest {
  bytes: Promise<Uint8Array>;
  resolve(bytes: Uint8Array): void;
  reject(error: unknown): void;
}

/** Methods for the calling side. */
export type CodecMethods = CodecModules['methods'];

export class CodecModules {
  readonly #requests = new Map<Codec, CodecRequest>();

  /** `ask` sends a request to the calling side, which answers it by one of the methods. */
  constructor(private readonly ask: (name: Codec) => void) {}

  /** Resolves to the bytes of the module `name`. Rejects if it cannot be loaded; the next call tries again. */
  load(name: Codec): Promise<Uint8Array> {
    const known = this.#requests.get(name);
    if (known) return known.bytes;
    let settle!: Pick<CodecRequest, 'resolve' | 'reject'>;
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

  #take(name: Codec): CodecRequest | undefined {
    const request = this.#requests.get(name);
    this.#requests.delete(name);
    return request;
  }
}

/** Reports an event to the owner of this worker. */
export type Report = (event: string, detail: unknown) => void;

/** Serves a worker with the methods that `methodsOf` makes, and with those that bring codecs. */
export function serveWithCodecs(port: Port, methodsOf: (codecs: CodecModules, report: Report) => Methods): void {
  const codecs = new CodecModules((name) => report(CODEC_NEEDED, name));
  const report: Report = serve(port, {
    ...methodsOf(codecs, (event, detail) => report(event, detail)),
    ...codecs.methods,
  });
}
