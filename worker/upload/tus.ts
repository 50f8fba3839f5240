// The tus resumable upload protocol, version 1.0.0, with its extensions creation, creation-defer-length and termination.

import { Passing } from '../http/failures.js';
import type { TargetPlan } from '../types.js';
import type { Body } from './body.js';
import { Flight } from './flight.js';
import { appendPart } from './offsets.js';
import type { Part } from './parts.js';
import type { Answer, MakeCall, Requests } from './requests.js';
import type { Protocol } from './target.js';

const CHUNK = 16 << 20;
const VERSION = { 'Tus-Resumable': '1.0.0' };
/** Somebody else is at it, perhaps the request of ours that broke. */
const BUSY = [409, 423];

export class Tus implements Protocol {
  readonly #flight = new Flight(1);
  #file: URL | undefined;
  #isDeferred = false;
  /** Whether the server knows the length: it takes it once. */
  #isDeclared = false;
  #size = 0;

  constructor(
    readonly requests: Requests,
    /** Where uploads are begun. */
    private readonly url: URL,
    private readonly name: string | undefined,
  ) {}

  async begin({ outputSize }: TargetPlan): Promise<number> {
    this.#isDeferred = outputSize === undefined;
    const own: Record<string, string> =
      outputSize === undefined ? { 'Upload-Defer-Length': '1' } : { 'Upload-Length': String(outputSize) };
    if (this.name !== undefined) own['Upload-Metadata'] = `filename ${base64(this.name)}`;
    const call = this.#call('POST', this.url, own);
    const { headers } = await this.requests.send(call, [201]);
    const location = headers.get('Location');
    if (location === null) throw this.requests.failed('the server does not say where the upload is (Location)');
    this.#file = this.requests.continuation(this.url, location);
    return CHUNK;
  }

  async part(part: Part): Promise<void> {
    this.#size = part.offset + part.size;
    // Of an upload without bytes all is there.
    if (this.#size === 0 && !this.#isDeferred) return;
    await this.#flight.begin(() =>
      appendPart(this.requests, part, {
        append: (offset, body) => this.#append(offset, body, part.isLast),
        end: () => this.#end(),
      }),
    );
  }

  async complete(): Promise<void> {
    await this.#flight.all();
    const end = await this.requests.retrying(() => this.#end());
    if (end !== this.#size) throw this.requests.failed(`the server has ${end} of ${this.#size} bytes`);
  }

  async abort(): Promise<void> {
    await this.requests.end(this.#file && this.#call('DELETE', this.#file, {}));
  }

  async #append(offset: number, body: Body, isLast: boolean): Promise<number> {
    const isDue = isLast && this.#isDeferred && !this.#isDeclared;
    const length: Record<string, string> = isDue ? { 'Upload-Length': String(this.#size) } : {};
    const own = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': String(offset), ...length };
    const answer = await this.requests.once(this.#call('PATCH', this.#file!, own, body), [204, ...BUSY]);
    if (BUSY.includes(answer.status)) throw new Passing(`the server answered ${answer.status}`);
    this.#isDeclared ||= isDue;
    return offsetOf(answer);
  }

  async #end(): Promise<number> {
    const answer = await this.requests.once(this.#call('HEAD', this.#file!, {}), [200, 204, ...BUSY]);
    if (BUSY.includes(answer.status)) throw new Passing(`the server answered ${answer.status}`);
    this.#isDeclared ||= answer.headers.has('Upload-Length');
    return offsetOf(answer);
  }

  #call(method: string, url: URL, own: Record<string, string>, body?: Body): MakeCall {
    return async () => {
      const headers = { ...(await this.requests.headers(url)), ...VERSION, ...own };
      return { method, url, headers, ...(body ? { body } : {}) };
    };
  }
}

function offsetOf({ headers }: Answer): number {
  const offset = headers.get('Upload-Offset');
  if (offset === null || !/^\d+$/.test(offset)) {
    throw new Error('the server does not say how much it has (Upload-Offset)');
  }
  return Number(offset);
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
