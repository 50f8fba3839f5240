// The password of an image, and the keys that it unlocks: found once, wiped at the end.

import { cancelled, orCancelled, toDecantError } from './errors.js';
import type { ImageSpec } from './inside/coordinator.js';
import type { Platform } from './platform/platform.js';
import { acquire } from './team.js';
import type { OpenOptions } from './types.js';

let nextUnlocking = 0;

export class Lock {
  #password: Uint8Array | undefined;
  #keys: Uint8Array | undefined;

  constructor(
    private readonly platform: Platform,
    options: OpenOptions,
  ) {
    const { password } = options;
    this.assume = options.assumePassword ?? false;
    // A copy of our own: what the caller has is the caller's to wipe.
    if (password !== undefined) {
      this.#password = typeof password === 'string' ? new TextEncoder().encode(password) : password.slice();
    }
  }

  private readonly assume: boolean;

  /** Whether there is a password that was not used yet. */
  get isClosed(): boolean {
    return this.#password !== undefined && this.#keys === undefined;
  }

  get keys(): Uint8Array | undefined {
    return this.#keys;
  }

  /** Finds the keys. `report` is told the share of the work that is done. */
  async open(spec: ImageSpec, signal: AbortSignal, report: (share: number) => void): Promise<void> {
    if (signal.aborted) throw cancelled();
    const team = acquire(this.platform, { engine: 'workers', workers: 0, extras: true });
    const { coordinator } = team;
    const id = nextUnlocking++;
    const stop = () => void coordinator.call('cancel', id).catch(() => {});
    let healthy = true;
    coordinator.on(`unlocking:${id}`, (share) => report(share as number));
    signal.addEventListener('abort', stop);
    try {
      report(0);
      await orCancelled(signal, team.ready);
      const work = { id, image: spec, password: this.#password!, assume: this.assume };
      this.#keys = await orCancelled(signal, coordinator.call('unlock', work));
      this.#password!.fill(0);
    } catch (thrown) {
      healthy = toDecantError(thrown).kind !== 'internal';
      throw thrown;
    } finally {
      signal.removeEventListener('abort', stop);
      coordinator.off(`unlocking:${id}`);
      team.release(healthy);
    }
  }

  wipe(): void {
    this.#password?.fill(0);
    this.#keys?.fill(0);
  }
}
