// The `threads` engine: a worker that hands the jobs of one conversion to a pool of threads, and those threads.

import type * as Threads from 'decant-wasm/threads';
import { type Methods, RpcClient, type WorkerPort } from '../messages/rpc.js';
import { type Attachment, connectionMethods, type OpenRunner, openTarget, type Reply } from './pool-methods.js';
import { type CodecModules, instantiate, serveWithCodecs } from './wasm.js';
import type { WorkerHost } from './worker-host.js';

/** The calls that a thread serves before it enters the loop of rayon, from which it never returns. */
type ThreadMethods = ReturnType<typeof threadMethods>;

function threadMethods(host: WorkerHost, glue: typeof Threads) {
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

/** Lets the threads enter the pool of rayon, with the address of its receiver. */
let enterThreads: (receiver: number) => void;

/** The pool of wasm-bindgen-rayon while it is built. */
interface PoolBuilder {
  receiver(): number;
  build(): void;
}

/** Called by the bindings, in place of the function in `workerHelpers.js` of wasm-bindgen-rayon: the threads run already. */
export async function startWorkers(_module: unknown, _memory: unknown, builder: PoolBuilder): Promise<void> {
  enterThreads(builder.receiver());
  builder.build();
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
    enterThreads = (receiver) => {
      for (const thread of this.threads) thread.call('enter', receiver).catch(fail);
    };
    await this.glue.initThreadPool(this.threads.length);
    return {
      run: (job, brought) => this.glue.runInThread(job, brought) as Promise<Reply>,
      close: () => this.glue.closeInThreads(),
    };
  }
}

/** The methods of the worker that owns the threads. */
function threadPoolMethods(host: WorkerHost, glue: typeof Threads, codecs: CodecModules) {
  let pool: ThreadPool;
  return {
    /** Resolves when the threads for `workers` cores are ready. */
    async startPoolWorker(module: WebAssembly.Module, workers: number): Promise<void> {
      instantiate(glue, module, codecs);
      pool = await ThreadPool.start(glue, module, workers);
    },

    ...connectionMethods((attachment) => pool.open(attachment)),
    ...threadMethods(host, glue),
  } satisfies Methods;
}

/** Serves the worker of the `threads` engine that owns the threads, and each thread. */
export function serveThreads(host: WorkerHost, glue: typeof Threads): void {
  serveWithCodecs(host.port, (codecs) => threadPoolMethods(host, glue, codecs));
}
