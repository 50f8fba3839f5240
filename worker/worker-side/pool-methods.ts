// The methods of a pool worker: runs the jobs of any number of conversions, each with its own port.

import { toTargetError } from '../errors/errors.js';
import type { FileSpec, TargetSpec } from '../messages/messages.js';
import { channelPort, type Methods, Moved, serve } from '../messages/rpc.js';
import type { CodecMethods, CodecModules } from './codec-modules.js';
import { instantiate, type Workers } from './wasm.js';
import type { OpenHandle, WorkerHost } from './worker-host.js';

/** The settings of a conversion for a pool worker. Without a target, the worker returns its output. */
export interface Attachment {
  /** `undefined` for a source that workers cannot open: jobs include its bytes. */
  files: (FileSpec | undefined)[];
  keys: Uint8Array | undefined;
  target: TargetSpec | undefined;
}

/** The arrays in a runner's reply. */
interface Reply {
  bytes?: Uint8Array<ArrayBuffer>;
  brought?: Uint8Array<ArrayBuffer>[];
}

/** Methods for the calling side. */
export type PoolMethods = ReturnType<typeof poolMethods> & CodecMethods;

/** Methods for a coordinator, on the port of one conversion. */
export type JobMethods = ReturnType<typeof jobMethods>;

/** The runner of one conversion. The first job creates it: before that, the target may not have its length. */
class JobRunner {
  #runner: Promise<Workers.Runner> | undefined;
  #handle: OpenHandle | undefined;
  #running = new Set<Promise<unknown>>();
  #closed = false;

  constructor(
    private readonly crate: typeof Workers,
    private readonly host: WorkerHost,
  ) {}

  /** The first job comes with `attachment`. */
  async run(job: Uint8Array, brought: Uint8Array[], attachment?: Attachment): Promise<Reply> {
    const running = this.#run(job, brought, attachment);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    // The callers of the jobs get their failures.
    await Promise.allSettled(this.#running);
    const runner = await this.#runner?.catch(() => undefined);
    this.#handle?.close();
    runner?.free();
  }

  async #run(job: Uint8Array, brought: Uint8Array[], attachment?: Attachment): ReturnType<JobRunner['run']> {
    // A job that was in transit when the conversion ended: nothing waits for it.
    if (this.#closed) throw new Error('the conversion has ended');
    this.#runner ??= this.#open(attachment!);
    return (await this.#runner).run(job, brought) as Promise<Reply>;
  }

  async #open({ files: specs, keys, target }: Attachment): Promise<Workers.Runner> {
    if (target) {
      this.#handle = await this.host.openHandle(target).catch((thrown) => {
        throw toTargetError(thrown);
      });
    }
    const files = specs.map((spec) => spec && this.host.file(spec));
    const runner = new this.crate.Runner(files, keys, this.#handle?.handle);
    // The runner has and wipes its own copy.
    keys?.fill(0);
    return runner;
  }
}

function jobMethods(runner: JobRunner) {
  return {
    async run(job: Uint8Array, brought: Uint8Array[], attachment?: Attachment): Promise<Moved<Reply>> {
      const reply = await runner.run(job, brought, attachment);
      const arrays = [...(reply.bytes ? [reply.bytes] : []), ...(reply.brought ?? [])];
      return new Moved(
        reply,
        arrays.map(({ buffer }) => buffer),
      );
    },
  } satisfies Methods;
}

export function poolMethods(host: WorkerHost, glue: typeof Workers, codecs: CodecModules) {
  let crate: typeof Workers;
  const connections = new Map<number, { runner: JobRunner; port: MessagePort }>();
  return {
    startPoolWorker(module: WebAssembly.Module): void {
      crate = instantiate(glue, module, codecs);
    },

    /** Serves a conversion on `port`. */
    connect(connection: number, port: MessagePort): void {
      const runner = new JobRunner(crate, host);
      connections.set(connection, { runner, port });
      serve(channelPort(port), jobMethods(runner));
    },

    /** Closes the connection, after its current jobs have ended. */
    async disconnect(connection: number): Promise<void> {
      const known = connections.get(connection);
      connections.delete(connection);
      await known?.runner.close();
      known?.port.close();
    },
  } satisfies Methods;
}
