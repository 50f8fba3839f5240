// Calls between workers: requests and results, errors with their kind, and the failure of open calls when the other side
// dies.

import { DecantError, type PlainError, toDecantError, toPlain } from '../errors/errors.js';

/** One end of a channel to another worker, with the same interface in browsers and Node. */
export interface Port {
  post(message: unknown, transfer?: Transferable[]): void;
  /** Calls `message` for each message of the other side. */
  listen(message: (data: unknown) => void): void;
}

/** The `Port` of one end of a `MessageChannel`. */
export function channelPort(port: MessagePort): Port {
  return {
    post: (message, transfer = []) => port.postMessage(message, transfer),
    listen: (message) => {
      port.onmessage = ({ data }) => message(data);
      port.onmessageerror = () => {
        // The sender would wait forever. Thrown outside of a promise, the error ends the worker and reaches its owner.
        setTimeout(() => {
          throw new Error('a message could not be read');
        });
      };
    },
  };
}

/** A worker, from its owner's side. */
export interface WorkerPort extends Port {
  /** Calls `died`, with a sentence or an error, when the worker fails outside of a call. */
  onDeath(died: (reason: string | DecantError) => void): void;
  /** Resolves when the worker has stopped. Never rejects. */
  terminate(): Promise<void>;
  /** Node: sets whether the worker keeps the process alive. */
  keepAlive(alive: boolean): void;
}

// biome-ignore lint/suspicious/noExplicitAny: the methods of an interface take and return anything
export type Methods = Record<string, (...args: any[]) => unknown>;

interface CallMessage {
  id: number;
  method: string;
  args: unknown[];
}
interface ResultMessage {
  id: number;
  result?: unknown;
  error?: PlainError;
}
interface EventMessage {
  event: string;
  detail: unknown;
}

/** A result whose buffers are transferred, not copied. */
export class Moved<T> {
  constructor(
    readonly value: T,
    readonly transfer: Transferable[],
  ) {}
}

/** Answers calls on `port` with `methods`. Returns a function that reports events. */
export function serve(port: Port, methods: Methods): (event: string, detail: unknown) => void {
  port.listen((data) => {
    answer(port, methods, data as CallMessage).catch((thrown) => {
      // Thrown outside of a promise, the error ends the worker and reaches its owner.
      setTimeout(() => {
        throw thrown;
      });
    });
  });
  return (event, detail) => port.post({ event, detail } satisfies EventMessage);
}

/** Answers one call. Rejects if the reply cannot be posted, or if the wasm has trapped: its memory may be corrupt then. */
async function answer(port: Port, methods: Methods, { id, method, args }: CallMessage): Promise<void> {
  try {
    const result = await methods[method]!(...args);
    if (result instanceof Moved) port.post({ id, result: result.value } satisfies ResultMessage, result.transfer);
    else port.post({ id, result } satisfies ResultMessage);
  } catch (thrown) {
    if (thrown instanceof WebAssembly.RuntimeError) throw thrown;
    port.post({ id, error: toPlain(thrown) } satisfies ResultMessage);
  }
}

/** The message for a worker that has failed. */
export const unexpectedEnd = (reason: string): string =>
  `A worker ended unexpectedly (${reason}); try again, perhaps with fewer workers`;

type Returned<T> = T extends Moved<infer V> ? V : T;

/** Calls the methods that `serve` serves. */
export class RpcClient<T extends { [K in keyof T]: (...args: never[]) => unknown }> {
  #calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  #nextId = 0;
  #dead: DecantError | undefined;
  #events = new Map<string, (detail: unknown) => void>();
  #died: (sentence: string) => void = () => {};

  constructor(private readonly port: WorkerPort) {
    port.listen((data) => this.#receive(data as ResultMessage | EventMessage));
    // A worker that failed may still exist, with files open.
    port.onDeath((reason) => void this.terminate(reason));
  }

  call<K extends keyof T & string>(method: K, ...args: Parameters<T[K]>): Promise<Returned<Awaited<ReturnType<T[K]>>>> {
    return this.callMoving([], method, ...args);
  }

  /** Like `call`, but transfers the objects in `transfer`. */
  callMoving<K extends keyof T & string>(
    transfer: Transferable[],
    method: K,
    ...args: Parameters<T[K]>
  ): Promise<Returned<Awaited<ReturnType<T[K]>>>> {
    if (this.#dead) return Promise.reject(this.#dead);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve: resolve as (value: unknown) => void, reject });
      try {
        this.port.post({ id, method, args } satisfies CallMessage, transfer);
      } catch (thrown) {
        this.#calls.delete(id);
        reject(thrown);
      }
    });
  }

  /** Sets the only listener of the event `event`. */
  on(event: string, listener: (detail: unknown) => void): void {
    this.#events.set(event, listener);
  }

  off(event: string): void {
    this.#events.delete(event);
  }

  /** Sets the only listener that is called, once, when the other side has died or was ended. */
  onDeath(died: (sentence: string) => void): void {
    this.#died = died;
  }

  /** Fails open and later calls with `internal`, without terminating the worker, which has another owner. */
  abandon(sentence: string): void {
    this.#die(sentence);
  }

  get alive(): boolean {
    return this.#dead === undefined;
  }

  keepAlive(alive: boolean): void {
    this.port.keepAlive(alive);
  }

  /**
   * Terminates the worker. Open calls fail with `reason`; a sentence becomes an `internal` error. Resolves when the worker has
   * stopped. Never rejects.
   */
  async terminate(reason: string | DecantError = unexpectedEnd('it was stopped')): Promise<void> {
    this.#die(reason);
    await this.port.terminate();
  }

  #receive(data: ResultMessage | EventMessage): void {
    if ('event' in data) {
      this.#events.get(data.event)?.(data.detail);
      return;
    }
    const call = this.#calls.get(data.id);
    this.#calls.delete(data.id);
    if (data.error) call?.reject(toDecantError(data.error));
    else call?.resolve(data.result);
  }

  #die(reason: string | DecantError): void {
    if (this.#dead) return;
    this.#dead = reason instanceof DecantError ? reason : new DecantError('internal', reason);
    for (const call of this.#calls.values()) call.reject(this.#dead);
    this.#calls.clear();
    this.#died(this.#dead.message);
  }
}
