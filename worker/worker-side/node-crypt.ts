// AES, PBKDF2 and hashes by Node, which uses instructions of the processor for them.

import { createCipheriv, createDecipheriv, createHash, pbkdf2, pbkdf2Sync } from 'node:crypto';
import {
  type BytesAt,
  CANNOT,
  type CryptExports,
  type Derivation,
  derivationAt,
  lend,
  type PlatformFunction,
  shareOf,
  take,
} from './crypt-platform.js';

/** In the order of `Hash` in the crate. */
const HASHES = ['md5', 'sha1', 'ripemd160', 'sha224', 'sha256', 'sha384', 'sha512'];
/** How many iterations are done at once, to see how fast they are. They take a few milliseconds. */
const FIRST_ITERATIONS = 10_000;
/** How long a call may take, in milliseconds. */
const TURN_MS = 10;

/** Lets the instance with these exports use Node's functions. */
export function usePlatform(exports: CryptExports): void {
  const bytes: BytesAt = (address, length) => new Uint8Array(exports.memory.buffer as ArrayBuffer, address, length);
  const { prepare, run, free } = ciphers(bytes);
  // `run` is synchronous, so no decryption is begun and finished later.
  const cannot = () => CANNOT;
  lend(exports, [prepare, run, free, cannot, cannot, derivations(bytes), ...hashes(bytes)]);
}

/** AES for many blocks: `prepare`, `run` and `free` of the crate's `Platform`. */
function ciphers(bytes: BytesAt): Record<'prepare' | 'run' | 'free', PlatformFunction> {
  const prepared = new Map<number, ReturnType<typeof createCipheriv | typeof createDecipheriv>>();
  let last = 0;
  return {
    prepare(key, length, encrypts) {
      try {
        const create = encrypts ? createCipheriv : createDecipheriv;
        const cipher = create(`aes-${8 * length}-ecb`, bytes(key, length), null);
        cipher.setAutoPadding(false);
        prepared.set(++last, cipher);
        return last;
      } catch {
        // This Node has no AES, such as one with other rules for cryptography.
        return CANNOT;
      }
    },
    run(number, address, length) {
      try {
        const blocks = bytes(address, length);
        const done = prepared.get(number)?.update(blocks);
        if (done?.length === length) {
          blocks.set(done);
          return 0;
        }
      } catch {
        // Memory ran out: AES in the module needs none.
      }
      // After a failure, the cipher may hold blocks, which the next call would return.
      prepared.delete(number);
      return CANNOT;
    },
    free(number) {
      try {
        // Wipes the key.
        prepared.get(number)?.final();
      } catch {
        // Memory ran out: see `run`.
      }
      prepared.delete(number);
      return 0;
    },
  };
}

/** Returns `hash`, `add`, `digest` and `end` of the crate's `Platform`. */
function hashes(bytes: BytesAt): PlatformFunction[] {
  const begun = new Map<number, ReturnType<typeof createHash>>();
  let last = 0;
  const orCannot = (work: () => number): number => {
    try {
      return work();
    } catch {
      // This Node lacks the hash, or memory ran out.
      return CANNOT;
    }
  };
  return [
    (hash) =>
      orCannot(() => {
        begun.set(++last, createHash(HASHES[hash]!));
        return last;
      }),
    (number, address, length) =>
      orCannot(() => {
        begun.get(number)!.update(bytes(address, length));
        return 0;
      }),
    (number, address, length) =>
      orCannot(() => {
        bytes(address, length).set(begun.get(number)!.copy().digest());
        return 0;
      }),
    (number) => Number(begun.delete(number)),
  ];
}

/** Returns `derive` of the crate's `Platform`. Another thread derives, so that this one can be asked to cancel. */
function derivations(bytes: BytesAt): PlatformFunction {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let running: Derivation | undefined;

  function begin(address: number): number {
    const given = derivationAt(bytes, address);
    try {
      const derivation = startDerivation(given);
      if ('key' in derivation) return take(derivation.key!, given.place);
      running = derivation;
      return 0;
    } catch {
      // This Node lacks the hash.
      return CANNOT;
    }
  }

  return (address) => {
    if (!running) return begin(address);
    const derivation = running;
    const { key, failed } = derivation;
    if (key || failed) running = undefined;
    if (key) return take(key, derivationAt(bytes, address).place);
    if (failed) return CANNOT;
    Atomics.wait(pause, 0, 0, TURN_MS);
    return shareOf(derivation);
  };
}

/** Begins a derivation. One of few iterations has a key when it returns. */
function startDerivation(given: ReturnType<typeof derivationAt>): Derivation {
  const { password, salt, iterations, place } = given;
  const { length } = place;
  const hash = HASHES[given.hash]!;
  const began = performance.now();
  const some = Math.min(FIRST_ITERATIONS, iterations);
  const first = pbkdf2Sync(password, salt, some, length, hash);
  const estimate = ((performance.now() - began) * iterations) / some;
  if (some === iterations) return { began, estimate, key: first };
  first.fill(0);
  const derivation: Derivation = { began, estimate };
  // The module may need more memory, and then moves.
  const copy = password.slice();
  pbkdf2(copy, salt.slice(), iterations, length, hash, (error, key) => {
    copy.fill(0);
    if (error) derivation.failed = true;
    else derivation.key = key;
  });
  return derivation;
}
