// The `threads` engine: a worker that hands the jobs of one conversion to a pool of threads, and those threads.

import { type Methods, RpcClient, type WorkerPort } from '../messages/rpc.js';
import type { CodecModules } from './codec-modules.js';
import { type Attachment, connectionMethods, type OpenRunner, openTarget, type Reply } from './pool-methods.js';
import { startThreadsBy } from './start-threads.js';
import { initialise, type Threads } from './wasm.js';
import type { WorkerHost } from './worker-host.js';

/** What a thread runs before it enters the loop of rayon, from which it never returns. */
export type ThreadMethods = ReturnType<typeof threadMethods>;

export function threadMethods(host: WorkerHost, glue: typeof Threads) {
  return {
    startThread(module: WebAssembly.Module, memory: WebAssembly.Memory): void {
      glue.initSync({ module, memory });
    },

    async openInThread({ files, keys, target }: Attachment): Promise<void> {
      const opened = target && (await openTarget(host, target)).handle;
      const handle = opened && 'handle' in opened ? opened.handle : undefined;
      glue.openInThread(
        files.map((file) => (file && 'blob' in file ? file.blob : undefined)),
        keys,
        handle,
      );
      // The thread has and wipes its own copy.
      keys?.fill(0);
    },

    /** Runs jobs. Never returns, but throws if the thread dies. */
    enter(receiver: number): void {
      glue.wbg_rayon_start_worker(receiver);
    },
  } satisfies Methods;
}

/** More threads than cores: while one reads or writes, another one decodes. */
const MORE = 1;

/** A thread, seen from the worker that has started it and ends with it. */
function threadPort(worker: Worker): WorkerPort {
  return {
    post: (message) => worker.postMessage(message),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath: (died) => worker.addEventListener('error', ({ message }) => died(message)),
    terminate: async () => worker.terminate(),
    keepAlive: () => {},
  };
}

/** Ends this worker, since a job of a dead thread never ends: thrown outside of a promise, `error` reaches the owner. */
function fail(error: unknown): void {
  setTimeout(() => {
    throw error;
  });
}

class ThreadPool {
  private constructor(
    private readonly glue: typeof Threads,
    private readonly threads: RpcClient<ThreadMethods>[],
  ) {}

  /** Starts the threads for `workers` cores, with the memory of this worker. */
  static async start(glue: typeof Threads, module: WebAssembly.Module, workers: number): Promise<ThreadPool> {
    const memory = glue.sharedMemory() as WebAssembly.Memory;
    const start = async () => {
      const thread = new RpcClient<ThreadMethods>(threadPort(new Worker(self.location.href, { type: 'module' })));
      thread.onDeath((reason) => fail(new Error(reason)));
      await thread.call('startThread', module, memory);
      return thread;
    };
    return new ThreadPool(glue, await Promise.all(Array.from({ length: workers + MORE }, start)));
  }

  /** Called once: the threads never leave the pool of rayon. */
  async open(attachment: Attachment): Promise<OpenRunner> {
    await Promise.all(this.threads.map((thread) => thread.call('openInThread', attachment)));
    attachment.keys?.fill(0);
    startThreadsBy((receiver) => {
      for (const thread of this.threads) thread.call('enter', receiver).catch(fail);
    });
    await this.glue.initThreadPool(this.threads.length);
    return {
      run: (job, brought) => this.glue.runInThread(job, brought) as Promise<Reply>,
      close: () => this.glue.closeInThreads(),
    };
  }
}

/** The methods of the worker that owns the threads. */
export function threadPoolMethods(host: WorkerHost, glue: typeof Threads, codecs: CodecModules) {
  let pool: ThreadPool;
  return {
    /** Resolves when the threads for `workers` cores are ready. */
    async startPoolWorker(module: WebAssembly.Module, workers: number): Promise<void> {
      initialise(glue, module, codecs);
      pool = await ThreadPool.start(glue, module, workers);
    },

    ...connectionMethods((attachment) => pool.open(attachment)),
    ...threadMethods(host, glue),
  } satisfies Methods;
}
