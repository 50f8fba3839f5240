// The passwords of an image's encrypted layers, kept until the image is closed: it may have to be opened anew.

import { DecantError, reasonOf } from '../errors/errors.js';
import type { OpenOptions } from '../public/given.js';
import type { Layer } from '../public/types.js';

export class LayerPasswords {
  #given: OpenOptions['password'];
  #wiped = false;
  /** As bytes of our own: what the caller has is the caller's to wipe. */
  readonly #known = new Map<number, Uint8Array<ArrayBuffer>>();

  constructor({ password }: OpenOptions) {
    this.#given = password instanceof Uint8Array ? new Uint8Array(password) : password;
  }

  /** Whether there is any, or somebody who can be asked. */
  get hasAny(): boolean {
    return this.#given !== undefined;
  }

  /**
   * A copy of the password of `layer`, which is encrypted layer `number`; undefined where there is none. The receiver wipes
   * it. Fails with `password` where the caller's function throws.
   */
  async of(number: number, layer: Layer): Promise<Uint8Array<ArrayBuffer> | undefined> {
    let bytes = this.#known.get(number);
    if (!bytes) {
      bytes = bytesOf(typeof this.#given === 'function' ? await ask(this.#given, layer) : this.#given);
      // An answer that comes when the image was closed is not kept.
      if (bytes && this.#wiped) bytes.fill(0);
      else if (bytes) this.#known.set(number, bytes);
    }
    return bytes && new Uint8Array(bytes);
  }

  /** That password was wrong: a function is asked again the next time. */
  forget(number: number): void {
    this.#known.get(number)?.fill(0);
    this.#known.delete(number);
  }

  wipe(): void {
    for (const bytes of this.#known.values()) bytes.fill(0);
    this.#known.clear();
    if (this.#given instanceof Uint8Array) this.#given.fill(0);
    this.#given = undefined;
    this.#wiped = true;
  }
}

type Ask = Extract<OpenOptions['password'], (layer: Layer) => unknown>;

async function ask(password: Ask, layer: Layer): Promise<string | Uint8Array | undefined> {
  try {
    return await password(layer);
  } catch (thrown) {
    const message = `Could not ask for the password of '${layer.name}': ${reasonOf(thrown)}`;
    throw new DecantError('password', message, { cause: thrown });
  }
}

function bytesOf(password: string | Uint8Array | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (password === undefined) return undefined;
  if (typeof password === 'string') return new TextEncoder().encode(password);
  if (password instanceof Uint8Array) return new Uint8Array(password);
  throw new DecantError('usage', 'A password is a string or a Uint8Array');
}
