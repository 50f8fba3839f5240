// The passwords that the person has given for the layers of an image.

import type { Layer } from 'decant';

export class Passwords {
  readonly #byName = new Map<string, string>();
  #latest: string | undefined;
  /** The layer whose password the package asked for last. If that password is wrong, unlocking ends there. */
  asked: Layer | undefined;

  get isEmpty(): boolean {
    return this.#latest === undefined;
  }

  /** Whether the person has given one for the layer `name` itself. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  give(name: string, password: string): void {
    this.#byName.set(name, password);
    this.#latest = password;
  }

  /**
   * The password of `layer`. For a layer that has none yet, the latest one is tried, since layers often share one. Not
   * with the old AES method, which cannot tell for sure that a password is wrong.
   */
  of(layer: Layer): string | undefined {
    this.asked = layer;
    return this.#byName.get(layer.name) ?? (layer.encryption === 'aes' ? undefined : this.#latest);
  }
}
