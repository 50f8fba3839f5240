// A worker of the `workers` engine: runs the jobs of any number of conversions.

import { toSinkError } from '../errors.js';
import type { SourceSpec, Variant } from '../platform/platform.js';
import type { TargetSpec } from '../routes/route.js';
import { type Methods, Moved, serve } from '../rpc.js';
import type { Host, Share } from './host.js';
import { instantiate, type Plain } from './wasm.js';

/** A conversion as a pool worker sees it; without a target it hands its output over. */
export interface Attachment {
  sources: SourceSpec[];
  keys: Uint8Array | undefined;
  target: TargetSpec | undefined;
}

export type PoolMethods = ReturnType<typeof poolMethods>;

/** A conversion's runner, made by its first job: the target has its length only then. */
class Part {
  #runner: Promise<Plain.Runner> | undefined;
  #share: Share | undefined;
  #running = new Set<Promise<unknown>>();

  constructor(
    private readonly crate: typeof Plain,
    private readonly host: Host,
    private readonly attachment: Attachment,
  ) {}

  async run(job: Uint8Array): Promise<{ bytes?: Uint8Array<ArrayBuffer> }> {
    this.#runner ??= this.#open();
    const runner = await this.#runner;
    const running = runner.run(job) as Promise<{ bytes?: Uint8Array<ArrayBuffer> }>;
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async close(): Promise<void> {
    const runner = await this.#runner?.catch(() => undefined);
    await Promise.allSettled(this.#running);
    this.#share?.close();
    runner?.free();
  }

  async #open(): Promise<Plain.Runner> {
    const { sources, keys, target } = this.attachment;
    if (target) {
      this.#share = await this.host.openShare(target).catch((thrown) => {
        throw toSinkError(thrown);
      });
    }
    const files = sources.map((source) => this.host.source(source));
    const runner = new this.crate.Runner(files, keys, this.#share?.sink);
    // The runner has its own copy, which it wipes.
    keys?.fill(0);
    return runner;
  }
}

function poolMethods(host: Host) {
  let variant: Variant;
  let crate: typeof Plain;
  const parts = new Map<number, Part>();
  return {
    spawn(given: Variant): void {
      variant = given;
      // A failure is told by `start`.
      host.glue(variant).catch(() => {});
    },

    async start(module: WebAssembly.Module): Promise<void> {
      crate = instantiate(await host.glue(variant), module);
    },

    attach(id: number, attachment: Attachment): void {
      parts.set(id, new Part(crate, host, attachment));
    },

    async run(id: number, job: Uint8Array): Promise<unknown> {
      const reply = await parts.get(id)!.run(job);
      return reply.bytes ? new Moved(reply, [reply.bytes.buffer]) : reply;
    },

    async detach(id: number): Promise<void> {
      const part = parts.get(id);
      parts.delete(id);
      await part?.close();
    },
  } satisfies Methods;
}

export function servePool(host: Host): void {
  serve(host.port, poolMethods(host));
}
