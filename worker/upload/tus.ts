// The tus resumable upload protocol, version 1.0.0, with its extensions creation, creation-defer-length and termination.

import { DecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { RequestRefused, TransientFailure } from '../http/http-failures.js';
import type { TargetPlan } from '../public/types.js';
import type { UploadProtocol } from './ascending-target.js';
import { unconfirmed } from './confirmation.js';
import type { UploadPart } from './part-cutter.js';
import { appendPart, InFlight } from './part-sending.js';
import { type Body, zeros } from './request-body.js';
import { lacksHeader } from './upload-errors.js';
import type { MakeCall, UploadRequests, UploadResponse } from './upload-requests.js';

const CHUNK = 16 << 20;
const VERSION = { 'Tus-Resumable': '1.0.0' };
/** Another request holds the file, perhaps a broken one of ours. */
const BUSY = [409, 423];
const NO_LENGTH = 'the server did not accept the length of the file';
/** HEAD is not allowed. */
const CLOSED = [401, 403, 405, 501];

export class Tus implements UploadProtocol {
  readonly #flight = new InFlight(1);
  #file: URL | undefined;
  #isDeferred = false;
  /** Whether the server knows the length, which can be set only once. */
  #isDeclared = false;
  #size = 0;
  /** Whether the length was sent again at the end. */
  #isRepeated = false;

  constructor(
    readonly requests: UploadRequests,
    /** The URL for creating uploads. */
    private readonly url: URL,
    private readonly name: string | undefined,
  ) {}

  async begin({ outputSize }: TargetPlan): Promise<number> {
    this.#isDeferred = outputSize === undefined;
    const own: Record<string, string> =
      outputSize === undefined ? { 'Upload-Defer-Length': '1' } : { 'Upload-Length': String(outputSize) };
    if (this.name !== undefined) own['Upload-Metadata'] = `filename ${base64(this.name)}`;
    const call = this.#call('POST', this.url, own);
    const { status, headers } = await this.requests.begin(call, [201]);
    const location = headers.get('Location');
    if (location === null)
      throw this.requests.failed(`the server does not state the URL of the upload: ${lacksHeader(status, 'Location')}`);
    this.#file = this.requests.continuation(this.url, location);
    return CHUNK;
  }

  async part(part: UploadPart): Promise<void> {
    this.#size = part.offset + part.size;
    // An empty file is already complete.
    if (this.#size === 0 && !this.#isDeferred) return;
    await this.#flight.start(() =>
      appendPart(this.requests, part, {
        append: (offset, body) => this.#append(offset, body, part.isLast),
        end: () => this.#end(),
      }),
    );
  }

  async complete(): Promise<string | undefined> {
    await this.#flight.finish();
    return this.requests.retrying(() => this.#confirm());
  }

  async abort(): Promise<void> {
    const file = this.#file;
    if (file) await this.requests.remove(this.#call('DELETE', file, {}), file.origin + file.pathname);
  }

  async #append(offset: number, body: Body, isLast: boolean): Promise<number> {
    const isDue = isLast && this.#isDeferred && !this.#isDeclared;
    const length: Record<string, string> = isDue ? { 'Upload-Length': String(this.#size) } : {};
    const own = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': String(offset), ...length };
    const answer = await this.requests.once(this.#call('PATCH', this.#file!, own, body), [204, ...BUSY]);
    if (BUSY.includes(answer.status)) throw new TransientFailure(`the server answered ${answer.status}`);
    this.#isDeclared ||= isDue;
    return offsetOf(answer);
  }

  async #end(): Promise<number> {
    return offsetOf(await this.#head([200, 204]));
  }

  async #head(accepted: readonly number[]): Promise<UploadResponse> {
    const answer = await this.requests.once(this.#call('HEAD', this.#file!, {}), [...accepted, ...BUSY]);
    if (BUSY.includes(answer.status)) throw new TransientFailure(`the server answered ${answer.status}`);
    this.#isDeclared ||= answer.headers.has('Upload-Length');
    return answer;
  }

  /** Confirms the file by HEAD. Resolves to `undefined`, or to the reason why it is unconfirmed. Fails if it is incomplete. */
  async #confirm(): Promise<string | undefined> {
    const answer = await this.#head([200, 204, ...CLOSED]);
    if (CLOSED.includes(answer.status)) return unconfirmed(`the server answered ${answer.status}`);
    const end = offsetOf(answer);
    if (end !== this.#size) throw incomplete(`the server has received ${end} of ${this.#size} bytes`);
    const length = answer.headers.get('Upload-Length');
    if (length === String(this.#size)) return undefined;
    if (length !== null) throw incomplete(`the server expects ${shownText(length)} bytes instead of ${this.#size}`);
    if (!answer.headers.has('Upload-Defer-Length')) return unconfirmed('its answer to HEAD has no Upload-Length');
    if (this.#isRepeated) throw incomplete(NO_LENGTH);
    // A server that ignored the length in the last chunk may accept it alone.
    this.#isRepeated = true;
    this.#isDeclared = false;
    await this.#append(this.#size, zeros(0), true).catch((thrown) => {
      throw thrown instanceof RequestRefused ? incomplete(NO_LENGTH) : thrown;
    });
    return this.#confirm();
  }

  #call(method: string, url: URL, own: Record<string, string>, body?: Body): MakeCall {
    return async () => {
      const headers = await this.requests.headers({ ...VERSION, ...own }, { url });
      return { method, url, headers, ...(body ? { body } : {}) };
    };
  }
}

const incomplete = (reason: string): DecantError => new DecantError('target', reason, { code: 'upload-incomplete' });

function offsetOf({ status, headers }: UploadResponse): number {
  const offset = headers.get('Upload-Offset');
  if (offset === null || !/^\d{1,16}$/.test(offset)) {
    throw new Error(`the server does not state how much it has received: ${lacksHeader(status, 'Upload-Offset')}`);
  }
  return Number(offset);
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
