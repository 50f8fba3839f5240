// A worker of a pool: runs the jobs of any number of conversions, each of which has a port of its own to it.

import { toTargetError } from '../errors/errors.js';
import type { FileSpec, TargetSpec } from '../messages/messages.js';
import { channelPort, type Methods, Moved, serve } from '../messages/rpc.js';
import { instantiate, type Workers } from './wasm.js';
import type { OpenHandle, WorkerHost } from './worker-host.js';

/** A conversion as a pool worker sees it; without a target it hands its output over. */
export interface Attachment {
  /** `undefined` for a source that workers do not open: jobs come with its bytes. */
  files: (FileSpec | undefined)[];
  keys: Uint8Array | undefined;
  target: TargetSpec | undefined;
}

/** What the calling side asks of a pool worker. */
export type PoolMethods = ReturnType<typeof poolMethods>;

/** What a coordinator asks of it, by the port of one conversion. */
export type JobMethods = ReturnType<typeof jobMethods>;

/** One conversion's runner, made by its first job: the target has its length only then. */
class JobRunner {
  #attachment: Attachment | undefined;
  #runner: Promise<Workers.Runner> | undefined;
  #handle: OpenHandle | undefined;
  #running = new Set<Promise<unknown>>();
  #closed = false;

  constructor(
    private readonly crate: typeof Workers,
    private readonly host: WorkerHost,
  ) {}

  attach(attachment: Attachment): void {
    this.#attachment = attachment;
  }

  async run(job: Uint8Array, brought: Uint8Array[]): Promise<{ bytes?: Uint8Array<ArrayBuffer> }> {
    const running = this.#run(job, brought);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    // How they ended was told to who asked for them.
    await Promise.allSettled(this.#running);
    const runner = await this.#runner?.catch(() => undefined);
    this.#handle?.close();
    runner?.free();
    // Where there was no job.
    this.#attachment?.keys?.fill(0);
  }

  async #run(job: Uint8Array, brought: Uint8Array[]): Promise<{ bytes?: Uint8Array<ArrayBuffer> }> {
    // One that was on its way when the conversion ended: nobody waits for it.
    if (this.#closed) throw new Error('the conversion has ended');
    this.#runner ??= this.#open(this.#attachment!);
    return (await this.#runner).run(job, brought) as Promise<{ bytes?: Uint8Array<ArrayBuffer> }>;
  }

  async #open({ files: specs, keys, target }: Attachment): Promise<Workers.Runner> {
    if (target) {
      this.#handle = await this.host.openHandle(target).catch((thrown) => {
        throw toTargetError(thrown);
      });
    }
    const files = specs.map((spec) => spec && this.host.file(spec));
    const runner = new this.crate.Runner(files, keys, this.#handle?.handle);
    // The runner has its own copy, which it wipes.
    keys?.fill(0);
    return runner;
  }
}

function jobMethods(runner: JobRunner) {
  return {
    attach(attachment: Attachment): void {
      runner.attach(attachment);
    },

    async run(job: Uint8Array, brought: Uint8Array[]): Promise<unknown> {
      const reply = await runner.run(job, brought);
      return reply.bytes ? new Moved(reply, [reply.bytes.buffer]) : reply;
    },
  } satisfies Methods;
}

export function poolMethods(host: WorkerHost, glue: typeof Workers) {
  let crate: typeof Workers;
  const connections = new Map<number, { runner: JobRunner; port: MessagePort }>();
  return {
    startPoolWorker(module: WebAssembly.Module): void {
      crate = instantiate(glue, module);
    },

    /** Serves a conversion by `port`. */
    connect(connection: number, port: MessagePort): void {
      const runner = new JobRunner(crate, host);
      connections.set(connection, { runner, port });
      serve(channelPort(port), jobMethods(runner));
    },

    /** Ends that, once its jobs under way have ended. */
    async disconnect(connection: number): Promise<void> {
      const known = connections.get(connection);
      connections.delete(connection);
      await known?.runner.close();
      known?.port.close();
    },
  } satisfies Methods;
}
