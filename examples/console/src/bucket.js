// An upload to a bucket, as a target of decant: the console's server signs each request.

import { s3Target } from 'decant/upload';
import { begin, complete, sign } from './server.js';

/** Registers the disk when its object is complete. Calls `onSent` with the number of bytes that have arrived. */
export class BucketUpload {
  #name;
  #onSent;
  #id;
  #target = s3Target({ sign: (request) => sign(this.#id, request) });

  constructor(name, onSent) {
    this.#name = name;
    this.#onSent = onSent;
  }

  get ascending() {
    return this.#target.ascending;
  }

  /** Removing the parts may take time, and may fail: the conversion waits for the result. */
  get abortTimeout() {
    return this.#target.abortTimeout;
  }

  get network() {
    return this.#target.network;
  }

  async open(plan) {
    ({ id: this.#id } = await begin(this.#name, plan.outputSize));
    return this.#target.open(plan);
  }

  async write(offset, bytes) {
    await this.#target.write(offset, bytes);
    this.#onSent(this.#target.network.sent);
  }

  async hole(offset, length) {
    await this.#target.hole(offset, length);
    this.#onSent(this.#target.network.sent);
  }

  async close() {
    const end = await this.#target.close();
    await complete(this.#id);
    return end;
  }

  /** Removes the parts from the bucket. */
  abort(reason, keep) {
    return this.#target.abort(reason, keep);
  }
}
