// MD5 digests, by which servers tell what they have stored.

import type { Hash } from 'node:crypto';
import { md5 as ours } from '@noble/hashes/legacy.js';

/** So many bytes are digested before others get their turn. */
const STEP = 1 << 20;

/** Node's own is several times as fast. */
const native = globalThis.process?.getBuiltinModule?.('node:crypto');

type Md5 = Pick<Hash, 'update'> & { digest(): Uint8Array };

const begin = (): Md5 => native?.createHash('md5') ?? (ours.create() as unknown as Digest);

/** A digest of what comes in pieces. */
export class Digest {
  readonly #hash = begin();
  #ended: Uint8Array | undefined;

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += STEP) {
      if (at > 0) await new Promise((next) => setTimeout(next));
      this.#hash.update(bytes.subarray(at, at + STEP));
    }
  }

  /** Of all that was added; nothing is added afterwards. */
  end(): Uint8Array {
    this.#ended ??= this.#hash.digest();
    return this.#ended;
  }
}

export async function md5(bytes: Uint8Array): Promise<Uint8Array> {
  const digest = new Digest();
  await digest.add(bytes);
  return digest.end();
}

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
