// The passwords that the person has entered for the layers of an image.

import type { Layer } from 'decant';

export class Passwords {
  readonly #byName = new Map<string, string>();
  #latest: string | undefined;
  /** The layer whose password the package asked for last. Unlocking stops there if the password is wrong. */
  asked: Layer | undefined;

  get isEmpty(): boolean {
    return this.#latest === undefined;
  }

  /** Whether the person has entered a password for the layer `name`. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  give(name: string, password: string): void {
    this.#byName.set(name, password);
    this.#latest = password;
  }

  /**
   * Returns the password of `layer`. For a layer without one, returns the latest password, since layers often share one,
   * except for the old AES method, which cannot reliably detect a wrong password.
   */
  of(layer: Layer): string | undefined {
    this.asked = layer;
    return this.#byName.get(layer.name) ?? (layer.encryption === 'aes' ? undefined : this.#latest);
  }
}
