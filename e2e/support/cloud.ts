// A cloud that accepts uploads and fails at the request of a test, over HTTP (uploads.ts) or as a `fetch`.

import { type Answer, type Headers, type Limits, protocolsOf, type Stored } from './upload-protocols.js';

/** The faults of a cloud, each with whether another attempt helps if the protocol allows one. */
export const UPLOAD_FAULTS = {
  drop: 'passes',
  'lost answer': 'passes',
  cut: 'passes',
  silent: 'passes',
  'status 500': 'passes',
  'status 503': 'passes',
  'status 429': 'passes',
  'status 408': 'passes',
  'late body': 'passes',
  'status 400': 'lasts',
  'status 403': 'lasts',
  'status 404': 'lasts',
  'status 413': 'lasts',
  redirect: 'lasts',
} as const;
export type UploadFault = keyof typeof UPLOAD_FAULTS;
export const ALL_FAULTS = Object.keys(UPLOAD_FAULTS) as UploadFault[];

/** A request that has arrived. */
export interface Asked {
  method: string;
  /** Path and query. */
  url: string;
  headers: Headers;
  /** The size of its body in bytes, once that was read. */
  length: number;
}

/** The end of a request: an answer, a broken connection, or none. */
export type Outcome = Answer | 'broken' | 'silent';

export interface CloudOptions {
  /** The fault of a request, by its number from 0 on; requests with DELETE excepted. */
  fault?: (number: number, asked: Asked) => UploadFault | undefined;
  /** The fault of a request that aborts an upload (DELETE). */
  faultAtEnd?: () => UploadFault | undefined;
  /** Answers instead of the protocol. */
  answer?: (asked: Asked) => Answer | undefined | Promise<Answer | undefined>;
  /** Whether to damage the bytes of a request before they are stored, by its number. */
  damages?: (number: number) => boolean;
  /** The bytes that a reader of an object gets; by default those of the object. */
  shown?: (object: Buffer) => Buffer;
  /** Headers of every answer. */
  headers?: Record<string, string>;
  limits?: Partial<Limits>;
}

export class Cloud implements Stored {
  readonly objects = new Map<string, Buffer>();
  readonly begun = new Set<string>();
  readonly asked: Asked[] = [];
  readonly shown?: (object: Buffer) => Buffer;
  /** Awaited before a request is carried out. */
  before: (asked: Asked) => unknown = () => {};
  /** Awaited between carrying out a request and answering it. */
  beforeAnswer: (asked: Asked) => unknown = () => {};
  readonly #protocolOf;

  constructor(readonly options: CloudOptions = {}) {
    if (options.shown) this.shown = options.shown;
    this.#protocolOf = protocolsOf(this, options.limits);
  }

  /** Records a request when its headers have arrived. Returns what carries it out; `undefined` is an incomplete body. */
  arrive(head: Omit<Asked, 'length'>): (body: Buffer | undefined) => Promise<Outcome> {
    const number = this.asked.length;
    const asked: Asked = { ...head, length: 0 };
    this.asked.push(asked);
    const { fault, faultAtEnd } = this.options;
    const planned = asked.method === 'DELETE' ? faultAtEnd?.() : fault?.(number, asked);
    return async (body) => {
      if (!body) return 'broken';
      asked.length = body.length;
      const outcome = await this.#carryOut(asked, number, body, planned);
      if (typeof outcome === 'string') return outcome;
      return { ...outcome, headers: { ...this.options.headers, ...outcome.headers } };
    };
  }

  /** A `fetch` that reaches this cloud under any origin, without a network. */
  readonly fetch = async (url: string | URL | globalThis.Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(String(url));
    const { method = 'GET' } = init;
    const headers = Object.fromEntries(new globalThis.Headers(init.headers));
    const carryOut = this.arrive({ method, url: `${pathname}${search}`, headers });
    const body = await new Response(init.body ?? '').arrayBuffer().catch(() => undefined);
    const outcome = await carryOut(body && Buffer.from(body));
    if (outcome === 'silent') return new Promise(() => {});
    if (outcome === 'broken') throw new TypeError('fetch failed', { cause: new Error('the connection broke') });
    const hasBody = method !== 'HEAD' && outcome.status !== 204;
    return new Response(hasBody ? (outcome.body ?? '') : null, outcome);
  };

  async #carryOut(asked: Asked, number: number, body: Buffer, planned: UploadFault | undefined): Promise<Outcome> {
    const answer = await this.options.answer?.(asked);
    if (answer) return answer;
    // Only requests with a body can be late.
    const fault = planned === 'late body' && body.length === 0 ? undefined : planned;
    const isCut = fault === 'cut' && /^\/(gcs|tus)\//.test(asked.url);
    if (fault !== undefined && fault !== 'lost answer' && !isCut) return outcomeOf(fault);
    await this.before(asked);
    if (this.options.damages?.(number) && body.length > 0) body[0]! ^= 1;
    const url = new URL(asked.url, 'http://cloud');
    const arrived = isCut ? body.subarray(0, body.length >> 1) : body;
    const { method, headers } = asked;
    const done = this.#protocolOf(url.pathname)?.({ method, url, headers, body: arrived, isCut }) ?? { status: 404 };
    await this.beforeAnswer(asked);
    return fault === undefined ? done : 'broken';
  }
}

/** The outcome of a request that is not carried out. */
function outcomeOf(fault: UploadFault): Outcome {
  if (fault === 'silent') return 'silent';
  if (fault === 'redirect') return { status: 307, headers: { Location: '/elsewhere' } };
  if (fault === 'late body') return { status: 400, body: '<Error><Code>RequestTimeout</Code></Error>' };
  const status = /^status (\d+)$/.exec(fault)?.[1];
  if (status === undefined) return 'broken';
  return { status: Number(status), headers: status === '429' ? { 'Retry-After': '0' } : {} };
}
