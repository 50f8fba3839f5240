// One PUT, or POST, with the output as its body. RFC 9110, sections 9.3.3 and 9.3.4.

import { DecantError } from '../errors/errors.js';
import { within } from '../errors/signals.js';
import { milliseconds } from '../http/http-options.js';
import type { Network, ReadableOutput, Target, TargetEnd, TargetPlan } from '../public/types.js';
import { ABORT_TIMEOUT, endOf } from './ascending-target.js';
import { type BodyMaker, bodyMaker } from './body-maker.js';
import { unconfirmed } from './confirmation.js';
import { statesMd5 } from './digests.js';
import { ACCEPTED, type ConfirmedObject, confirmPut } from './put-confirmation.js';
import { isRefusal, lateCompletion, requireAbsent } from './uncertain-completion.js';
import { completedAt } from './upload-errors.js';
import type { PutOptions } from './upload-options.js';
import {
  DEFAULT_PATIENCE,
  DEFAULT_TIMEOUT,
  type ObjectAddress,
  type UploadRequests,
  type UploadResponse,
} from './upload-requests.js';

/** The options of the request, whose URL is parsed before. */
export type PutSettings = Omit<PutOptions, 'url'>;

const COMPLETE = [200, 201, ACCEPTED, 204];
const ZEROS = new Uint8Array(1 << 20);

export class Put implements Target {
  readonly ascending = true;
  readonly abortTimeout = ABORT_TIMEOUT;
  readonly resumes = false;
  readonly #body = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#body.writable.getWriter();
  /** In milliseconds. */
  readonly #timeout: number;
  readonly #patience: number;
  readonly #method: 'PUT' | 'POST';
  readonly #confirms: boolean;
  #sent = 0;
  /** The last bytes so far, held back until `close`: with them the server has a complete object. */
  #last: Uint8Array | undefined;
  #size: number | undefined;
  readonly #since = performance.now();
  #answer!: Promise<UploadResponse>;
  /** Rejects with the response; never resolves. */
  #failure!: Promise<never>;
  #isAnswered = false;
  /** Whether the server may have a complete object. */
  #mayBeDone = false;
  #isRefused = false;
  /** Whether the whole body was sent. */
  #isSent = false;
  /** Why the object may still appear, once the whole body was sent. */
  #lateCompletion: string | undefined;
  /** Digests the body, if the output is verified. */
  #maker: BodyMaker | undefined;
  /** Where the object was confirmed. */
  #object: ObjectAddress | undefined;

  constructor(
    private readonly requests: UploadRequests,
    private readonly url: URL,
    { timeout = DEFAULT_TIMEOUT, patience = DEFAULT_PATIENCE, method = 'PUT', confirm = true }: PutSettings,
  ) {
    this.#method = method;
    this.#confirms = confirm;
    this.#timeout = milliseconds('timeout', timeout);
    this.#patience = milliseconds('patience', patience);
  }

  get network(): Network {
    return { ...this.requests.network, sent: this.#sent };
  }

  async open(plan: TargetPlan): Promise<void> {
    const { outputSize, verify } = plan;
    requireStreams();
    if (verify) this.#maker = bodyMaker(plan);
    this.#size = outputSize;
    const length: Record<string, string> = outputSize === undefined ? {} : { 'Content-Length': String(outputSize) };
    const defaults = { 'Content-Type': 'application/octet-stream' };
    const call = async () => ({
      method: this.#method,
      url: this.url,
      headers: await this.requests.headers(length, { defaults }),
      body: this.#body.readable,
    });
    this.#answer = this.requests.once(call, COMPLETE).catch((thrown) => {
      this.#isRefused = isRefusal(thrown);
      this.#lateCompletion = lateCompletion(thrown);
      throw this.requests.failure(thrown);
    });
    this.#failure = this.#answer.then(({ status }) => {
      if (status === ACCEPTED) this.#lateCompletion = `it answered ${ACCEPTED}`;
      this.#isAnswered = true;
      return new Promise<never>(() => {});
    });
    // Ignored: writes report it.
    this.#failure.catch(() => {});
    this.#writer.closed.catch(() => {});
  }

  async write(_offset: number, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await this.#maker?.add(bytes);
    const before = this.#last;
    this.#last = bytes;
    await this.#send(before);
  }

  async hole(offset: number, length: number): Promise<void> {
    for (let at = 0; at < length; at += ZEROS.length) {
      await this.write(offset + at, ZEROS.subarray(0, length - at));
    }
  }

  async close(): Promise<TargetEnd> {
    this.#mayBeDone = true;
    await this.#send(this.#last);
    // With Content-Length, the server may answer before the stream is closed.
    if (this.#size === undefined) this.#requireUnanswered();
    await this.#within(this.#timeout, this.#writer.close());
    this.#isSent = true;
    await this.#within(this.#patience, this.#answer);
    const answer = await this.#answer;
    const confirmation = await this.#confirm(answer);
    if (typeof confirmation === 'string') return endOf(confirmation);
    const { url, headers } = confirmation;
    const etag = headers.get('ETag');
    this.#object = { url, ...(etag !== null && { etag }) };
    const digest = await this.#maker?.digest();
    this.#maker?.close();
    return digest && [answer.headers, headers].some((headers) => statesMd5(headers, digest)) ? { checked: true } : {};
  }

  async readBack(): Promise<ReadableOutput | undefined> {
    return this.requests.readable(this.#object);
  }

  async remove(): Promise<void> {
    await this.requests.removeObject(this.#object);
  }

  async abort(reason: Error): Promise<void> {
    if (this.#isSent) await this.requests.lastResponse(this.#answer);
    this.requests.stop();
    this.#maker?.close();
    // Without a request, nothing reads the body, and a pending write would never end. A body that has failed can be neither cancelled
    // nor aborted.
    if (!this.#body.readable.locked) await this.#body.readable.cancel(reason).catch(() => {});
    await this.#writer.abort(reason).catch(() => {});
    // Only waited for: the fields below have the result.
    if (this.#isSent) await this.#answer.catch(() => {});
    // A server that has answered too early may have stored what it had received.
    const mayExist = this.#mayBeDone || this.#isAnswered;
    if (!mayExist || this.#isRefused) return;
    if (this.#method === 'POST')
      throw completedAt(this.requests.shownAddress, 'a POST does not name the object to check');
    const completing = { lateCompletion: this.#isSent ? this.#lateCompletion : undefined };
    const head = async () => ({ method: 'HEAD', url: this.url, headers: await this.requests.headers() });
    await requireAbsent(this.requests, head, { size: this.#sent, since: this.#since, completing });
  }

  async #send(bytes: Uint8Array | undefined): Promise<void> {
    this.#requireUnanswered();
    if (!bytes) return;
    await this.#within(this.#timeout, this.#writer.write(bytes));
    this.#sent += bytes.length;
  }

  async #confirm(answer: UploadResponse): Promise<ConfirmedObject | string> {
    if (!this.#confirms) return unconfirmed('the object was not checked (confirm: false, --no-confirm)');
    const sent = { method: this.#method, url: this.url, size: this.#sent, since: this.#since };
    return confirmPut(this.requests, sent, answer).catch((thrown) => {
      throw this.requests.failure(thrown);
    });
  }

  #requireUnanswered(): void {
    if (this.#isAnswered) throw this.requests.failed('the server answered before it had received everything');
  }

  /** Waits for `work`. Fails with the request, or after `time` milliseconds: a stream cannot be retried. */
  async #within(time: number, work: Promise<unknown>): Promise<void> {
    // The request's error is more precise than the stream's.
    const working = work.catch(() => {
      this.#requireUnanswered();
      return this.#failure;
    });
    const limited = within(time, Promise.race([working, this.#failure]), () => {
      throw this.requests.failed(`no progress for ${time / 1000} seconds`);
    });
    await this.requests.whileWaiting(limited, this.url.host);
  }
}

/** Fails in browsers whose `fetch` converts a stream to text. */
function requireStreams(): void {
  let asksForDuplex = false;
  const init = {
    method: 'PUT',
    body: new ReadableStream(),
    get duplex() {
      asksForDuplex = true;
      return 'half';
    },
  };
  const isText = new Request('https://localhost', init as RequestInit).headers.has('Content-Type');
  if (asksForDuplex && !isText) return;
  throw new DecantError('target', 'This browser cannot stream a PUT; upload in parts');
}
