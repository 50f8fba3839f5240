// Calls between workers: a request and its answer, errors with their kind, and what happens to
// open calls when the other side dies.

import { DecantError, type PlainError, toDecantError, toPlain } from './errors.js';

/** One end of a channel to another worker, the same in browsers and in Node. */
export interface Port {
  post(message: unknown, transfer?: Transferable[]): void;
  /** `message` gets what the other side posts. */
  listen(message: (data: unknown) => void): void;
}

/** A worker as its owner sees it. */
export interface WorkerPort extends Port {
  /** `died` is called when the worker fails outside of any call. */
  onDeath(died: (reason: string) => void): void;
  /** Resolves when nothing of it runs any more. */
  terminate(): Promise<void>;
  /** Node: whether the worker keeps the process alive. */
  keepAlive(alive: boolean): void;
}

// biome-ignore lint/suspicious/noExplicitAny: the methods of an interface take and return anything
export type Methods = Record<string, (...args: any[]) => unknown>;

interface Request {
  id: number;
  method: string;
  args: unknown[];
}
interface Answer {
  id: number;
  result?: unknown;
  error?: PlainError;
}
interface Event {
  event: string;
  detail: unknown;
}

/** A result whose buffers are moved, not copied. */
export class Moved<T> {
  constructor(
    readonly value: T,
    readonly transfer: Transferable[],
  ) {}
}

/** Answers the calls that come in on `port`, and lets the methods report events. */
export function serve(port: Port, methods: Methods): (event: string, detail: unknown) => void {
  port.listen(async (data) => {
    const { id, method, args } = data as Request;
    try {
      const result = await methods[method]!(...args);
      if (result instanceof Moved) port.post({ id, result: result.value } satisfies Answer, result.transfer);
      else port.post({ id, result } satisfies Answer);
    } catch (thrown) {
      port.post({ id, error: toPlain(thrown) } satisfies Answer);
    }
  });
  return (event, detail) => port.post({ event, detail } satisfies Event);
}

type Answered<T> = T extends Moved<infer V> ? V : T;

/** The caller's side of `serve`. */
export class Client<T extends { [K in keyof T]: (...args: never[]) => unknown }> {
  #calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  #nextId = 0;
  #dead: DecantError | undefined;
  #events = new Map<string, (detail: unknown) => void>();

  constructor(private readonly port: WorkerPort) {
    port.listen((data) => this.#receive(data as Answer | Event));
    // A worker that failed may still be there, with files open.
    port.onDeath((reason) => void this.terminate(reason));
  }

  call<K extends keyof T & string>(method: K, ...args: Parameters<T[K]>): Promise<Answered<Awaited<ReturnType<T[K]>>>> {
    if (this.#dead) return Promise.reject(this.#dead);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve: resolve as (value: unknown) => void, reject });
      try {
        this.port.post({ id, method, args } satisfies Request);
      } catch (thrown) {
        this.#calls.delete(id);
        reject(thrown);
      }
    });
  }

  /** Listens to the events called `event`; one listener each. */
  on(event: string, listener: (detail: unknown) => void): void {
    this.#events.set(event, listener);
  }

  off(event: string): void {
    this.#events.delete(event);
  }

  get alive(): boolean {
    return this.#dead === undefined;
  }

  keepAlive(alive: boolean): void {
    this.port.keepAlive(alive);
  }

  /** Ends the worker; open calls fail with `internal`. Resolves when nothing of it runs any more. */
  async terminate(reason = 'it was stopped'): Promise<void> {
    this.#die(reason);
    await this.port.terminate();
  }

  #receive(data: Answer | Event): void {
    if ('event' in data) {
      this.#events.get(data.event)?.(data.detail);
      return;
    }
    const call = this.#calls.get(data.id);
    this.#calls.delete(data.id);
    if (data.error) call?.reject(toDecantError(data.error));
    else call?.resolve(data.result);
  }

  #die(reason: string): void {
    this.#dead ??= new DecantError(
      'internal',
      `A worker ended unexpectedly (${reason}); try again, perhaps with fewer workers`,
    );
    for (const call of this.#calls.values()) call.reject(this.#dead);
    this.#calls.clear();
  }
}
