// Workers in the thread of a test: they answer calls with functions of the test, and log what happens to them.

import { type Methods, type Port, serve, type WorkerPort } from '../messages/rpc.js';
import type { Engine } from '../public/types.js';
import type { WorkerStarter } from './warm.js';

/** A worker in this thread. */
interface FakeWorker {
  engine: Engine;
  /** Lets the worker fail outside of a call. */
  die: (sentence: string) => void;
  /** Reports an event of the worker. */
  report: (event: string, detail: unknown) => void;
}

export class FakeWorkers {
  /** The events, in order. */
  log: string[] = [];
  /** The workers that were started, in order. */
  started: FakeWorker[] = [];
  readonly starter: WorkerStarter = {
    spawn: (engine) => this.#spawn(engine),
    module: async () => ({}) as WebAssembly.Module,
    codec: async () => new Uint8Array(),
  };

  /** `methods` are those of all workers, of coordinators and of pools. Tests may replace them. */
  constructor(readonly methods: Methods) {}

  #spawn(engine: Engine): WorkerPort {
    let [toWorker, toCaller]: ((data: unknown) => void)[] = [];
    const inside: Port = {
      post: (message) => toCaller!(message),
      listen: (message) => {
        toWorker = message;
      },
    };
    const report = serve(inside, this.methods);
    const worker: FakeWorker = { engine, die: () => {}, report };
    this.started.push(worker);
    let isTerminated = false;
    return {
      post: (message) => toWorker!(message),
      listen: (message) => {
        toCaller = message;
      },
      onDeath: (died) => {
        worker.die = died;
      },
      // A second call has no effect.
      terminate: async () => {
        if (!isTerminated) this.log.push(`terminate ${engine}`);
        isTerminated = true;
      },
      keepAlive: () => {},
    };
  }
}
