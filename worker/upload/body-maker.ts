// Bodies of requests, and digests of what they contain, made from successive bytes: in this thread, or in a worker.

import { reasonOf } from '../errors/errors.js';
import { type BodyReply, type BodyRequest, MAKES_BODIES, type MakesBodies } from '../messages/messages.js';
import type { TargetPlan } from '../public/types.js';
import { Md5 } from './digests.js';
import { type Body, BodyBuilder, isNode } from './request-body.js';

export interface BodyMaker {
  /** Begins a body of at most `most` bytes, with `zeros` zeros that were digested before. Otherwise, bytes are only digested. */
  begin(most: number, zeros?: number): void;
  add(bytes: Uint8Array): Promise<void>;
  addZeros(length: number): Promise<void>;
  /** Ends the body. */
  end(): Promise<Body>;
  /** Resolves to the MD5 digest of everything added since the last call. */
  digest(): Promise<Uint8Array>;
  /** Gives back what it uses. */
  close(): void;
}

/** Returns a maker of the worker that writes the output, if `plan` has one: in a page, its thread stays free. */
export function bodyMaker(plan: TargetPlan, digests = true): BodyMaker {
  const worker = isNode() ? undefined : (plan as MakesBodies)[MAKES_BODIES];
  return worker ? new RemoteBodyMaker(worker(digests)) : new LocalBodyMaker(digests);
}

/** Makes bodies in this thread, in steps of at most 1 MiB. */
export class LocalBodyMaker implements BodyMaker {
  #body: BodyBuilder | undefined;
  readonly #digest: Md5 | undefined;

  constructor(digests = true) {
    if (digests) this.#digest = new Md5();
  }

  begin(most: number, zeros = 0): void {
    this.#body = new BodyBuilder(most);
    this.#body.addZeros(zeros);
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.#body?.add(bytes);
    await this.#digest?.add(bytes);
  }

  async addZeros(length: number): Promise<void> {
    this.#body?.addZeros(length);
    await this.#digest?.addZeros(length);
  }

  async end(): Promise<Body> {
    const body = this.#body!.end();
    this.#body = undefined;
    return body;
  }

  async digest(): Promise<Uint8Array> {
    return this.#digest!.take();
  }

  close(): void {}
}

/** How many requests for bytes may be unanswered. */
const AHEAD = 4;

/** Has bodies made at the other end of `port`. */
class RemoteBodyMaker implements BodyMaker {
  /** The requests without an answer, in order. */
  readonly #asked: { resolve: (reply: unknown) => void; reject: (thrown: Error) => void }[] = [];
  /** The answers to requests for bytes that are awaited later. */
  readonly #ahead: Promise<unknown>[] = [];

  constructor(private readonly port: MessagePort) {
    port.onmessage = ({ data }) => {
      const reply = data as BodyReply;
      const { resolve, reject } = this.#asked.shift()!;
      if ('failed' in reply) reject(new Error(reply.failed));
      else resolve(reply.made);
    };
  }

  begin(most: number, zeros = 0): void {
    this.port.postMessage({ begin: most, zeros } satisfies BodyRequest);
  }

  async add(bytes: Uint8Array): Promise<void> {
    // A copy: the caller may read its array later.
    const copy = bytes.slice();
    await this.#askAhead({ bytes: copy }, [copy.buffer]);
  }

  async addZeros(length: number): Promise<void> {
    await this.#askAhead({ zeros: length });
  }

  async end(): Promise<Body> {
    return (await this.#ask({ take: 'body' })) as Body;
  }

  async digest(): Promise<Uint8Array> {
    return (await this.#ask({ take: 'digest' })) as Uint8Array;
  }

  close(): void {
    this.port.postMessage({ take: 'nothing' } satisfies BodyRequest);
    this.port.close();
  }

  async #askAhead(request: BodyRequest, moved: ArrayBuffer[] = []): Promise<void> {
    const answer = this.#ask(request, moved);
    // Awaited by a later call.
    answer.catch(() => {});
    this.#ahead.push(answer);
    while (this.#ahead.length > AHEAD) await this.#ahead.shift();
  }

  #ask(request: BodyRequest, moved: ArrayBuffer[] = []): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.port.postMessage(request, moved);
    });
  }
}

/** Makes bodies for a `RemoteBodyMaker` at the other end of `port`. */
export function makeBodies(port: MessagePort, digests: boolean): void {
  const maker = new LocalBodyMaker(digests);
  const made = async (request: BodyRequest): Promise<unknown> => {
    if ('bytes' in request) return maker.add(request.bytes);
    if ('take' in request) return request.take === 'body' ? maker.end() : maker.digest();
    return maker.addZeros(request.zeros);
  };
  let work = Promise.resolve();
  const handle = async (request: BodyRequest) => {
    if ('begin' in request) return maker.begin(request.begin, request.zeros);
    if ('take' in request && request.take === 'nothing') return port.close();
    const reply: BodyReply = await made(request).then(
      (made) => ({ made }),
      (thrown: unknown) => ({ failed: reasonOf(thrown) }),
    );
    port.postMessage(reply);
  };
  port.onmessage = ({ data }) => {
    // In order; none rejects.
    work = work.then(() => handle(data as BodyRequest));
  };
}
