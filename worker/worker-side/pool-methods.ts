// The methods of a pool worker: runs the jobs of any number of conversions, each with its own port.

import { toTargetError } from '../errors/errors.js';
import type { FileSpec, TargetSpec } from '../messages/messages.js';
import { channelPort, type Methods, Moved, serve } from '../messages/rpc.js';
import { type CodecMethods, type CodecModules, instantiate, type Workers } from './wasm.js';
import type { OpenHandle, WorkerHost } from './worker-host.js';

/** The settings of a conversion for a pool worker. Without a target, the worker returns its output. */
export interface Attachment {
  /** `undefined` for a source that workers cannot open: jobs include its bytes. */
  files: (FileSpec | undefined)[];
  keys: Uint8Array | undefined;
  target: TargetSpec | undefined;
}

/** The arrays in a runner's reply. */
export interface Reply {
  bytes?: Uint8Array<ArrayBuffer>;
  brought?: Uint8Array<ArrayBuffer>[];
  digested?: Uint8Array<ArrayBuffer>;
}

/** Methods for the calling side. */
export type PoolMethods = ReturnType<typeof poolMethods> & CodecMethods;

/** Methods for a coordinator, on the port of one conversion. */
export type JobMethods = ReturnType<typeof jobMethods>;

/** Runs the jobs of a conversion. */
export interface OpenRunner {
  run(job: Uint8Array, brought: Uint8Array[]): Promise<Reply>;
  close(): void;
}

/** The jobs of one conversion. The first one opens their runner: before that, the target may not have its length. */
class JobRunner {
  #runner: Promise<OpenRunner> | undefined;
  #running = new Set<Promise<unknown>>();
  #closed = false;

  constructor(private readonly open: (attachment: Attachment) => Promise<OpenRunner>) {}

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
    runner?.close();
  }

  async #run(job: Uint8Array, brought: Uint8Array[], attachment?: Attachment): ReturnType<JobRunner['run']> {
    // A job that was in transit when the conversion ended: nothing waits for it.
    if (this.#closed) throw new Error('the conversion has ended');
    this.#runner ??= this.open(attachment!);
    return (await this.#runner).run(job, brought);
  }
}

/** Opens the files and the target of a conversion for this worker. */
async function openRunner(
  crate: typeof Workers,
  host: WorkerHost,
  { files: specs, keys, target }: Attachment,
): Promise<OpenRunner> {
  const handle = target && (await openTarget(host, target));
  const files = specs.map((spec) => spec && host.file(spec, target !== undefined));
  const runner = new crate.Runner(files, keys, handle?.handle);
  // The runner has and wipes its own copy.
  keys?.fill(0);
  return {
    run: (job, brought) => runner.run(job, brought) as Promise<Reply>,
    close() {
      handle?.close();
      for (const file of files) if (file && 'close' in file) file.close?.();
      runner.free();
    },
  };
}

/** Opens a target for this worker to write to. Fails with `target`. */
export async function openTarget(host: WorkerHost, target: TargetSpec): Promise<OpenHandle> {
  try {
    return await host.openHandle(target);
  } catch (thrown) {
    throw toTargetError(thrown);
  }
}

function jobMethods(runner: JobRunner) {
  return {
    async run(job: Uint8Array, read: Uint8Array[], attachment?: Attachment): Promise<Moved<Reply>> {
      const reply = await runner.run(job, read, attachment);
      const { bytes, digested, brought = [] } = reply;
      const arrays = [...(bytes ? [bytes] : []), ...(digested ? [digested] : []), ...brought];
      return new Moved(
        reply,
        arrays.map(({ buffer }) => buffer),
      );
    },
  } satisfies Methods;
}

/** The methods of a worker of the `workers` engine. */
export function poolMethods(host: WorkerHost, glue: typeof Workers, codecs: CodecModules) {
  let crate: typeof Workers;
  return {
    async startPoolWorker(module: WebAssembly.Module, _workers: number): Promise<void> {
      crate = instantiate(glue, module, codecs);
    },

    ...connectionMethods((attachment) => openRunner(crate, host, attachment)),
  } satisfies Methods;
}

/** Conversions, each with a runner that `open` opens. */
export function connectionMethods(open: (attachment: Attachment) => Promise<OpenRunner>) {
  const connections = new Map<number, { runner: JobRunner; port: MessagePort }>();
  return {
    /** Serves a conversion on `port`. */
    connect(connection: number, port: MessagePort): void {
      const runner = new JobRunner(open);
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
