// The passwords of an image's encrypted layers, kept until the image is closed: it may have to be opened again.

import { DecantError, reasonOf } from '../errors/errors.js';
import type { OpenOptions } from '../public/caller-types.js';
import type { Layer } from '../public/types.js';

export class LayerPasswords {
  #given: OpenOptions['password'];
  #wiped = false;
  /** Copies: the caller wipes the originals. */
  readonly #known = new Map<number, Uint8Array<ArrayBuffer>>();

  /** Whether any password is accepted for a method that cannot check it. */
  readonly assume: boolean;

  constructor({ password, assumePassword = false }: OpenOptions) {
    this.assume = assumePassword;
    this.#given = password instanceof Uint8Array ? new Uint8Array(password) : password;
  }

  /** Whether there is a password, or a function to ask for one. */
  get hasAny(): boolean {
    return this.#given !== undefined;
  }

  /**
   * Resolves to a copy of the password of `layer`, the encrypted layer `number`, or to undefined. The receiver wipes it. Fails
   * with `password` if the caller's function throws.
   */
  async of(number: number, layer: Layer): Promise<Uint8Array<ArrayBuffer> | undefined> {
    let bytes = this.#known.get(number);
    if (!bytes) {
      bytes = bytesOf(typeof this.#given === 'function' ? await ask(this.#given, layer) : this.#given);
      // A password that arrives after the image was closed is not kept.
      if (bytes && this.#wiped) bytes.fill(0);
      else if (bytes) this.#known.set(number, bytes);
    }
    return bytes && new Uint8Array(bytes);
  }

  /** Forgets a wrong password: a function is called again the next time. */
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

type AskPassword = Extract<OpenOptions['password'], (layer: Layer) => unknown>;

async function ask(password: AskPassword, layer: Layer): Promise<string | Uint8Array | undefined> {
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
