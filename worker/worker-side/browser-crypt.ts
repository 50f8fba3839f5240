// AES and PBKDF2 by the browser, which uses instructions of the processor for them.

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

/** The numbers of the crate's `Hash` for the hashes that browsers have. */
const HASHES: Partial<Record<number, string>> = { 1: 'SHA-1', 4: 'SHA-256', 5: 'SHA-384', 6: 'SHA-512' };
/** How many iterations are done first, to see how fast they are. They take some milliseconds. */
const FIRST_ITERATIONS = 10_000;

/** AES-CBC without an initialisation vector. */
const CHAIN = { name: 'AES-CBC', iv: new Uint8Array(16) };

/** Keys, and what was begun or its results, by their numbers. */
const objects = new Map<number, unknown>();
let last = 0;

/** Lets the instance with these exports use the browser's functions. Pages without a secure context have none. */
export function usePlatform(exports: CryptExports): void {
  const bytes: BytesAt = (address, length) => new Uint8Array(exports.memory.buffer as ArrayBuffer, address, length);
  // Web Crypto digests whole inputs only.
  const hashes = Array.from({ length: 4 }, () => () => CANNOT);
  if (crypto.subtle) lend(exports, [...chains(bytes), derivations(bytes), ...hashes]);
}

/** Resolves when `take` can use the result with this number, which `begin` returned. */
export async function settled(number: number): Promise<void> {
  objects.set(number, await objects.get(number));
}

/** Returns `prepare`, `run`, `free`, `begin` and `take` of the crate's `Platform`. */
function chains(bytes: BytesAt): PlatformFunction[] {
  const { subtle } = crypto;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return [
    (address, length, encrypts) => {
      if (encrypts) return CANNOT;
      const number = ++last;
      objects.set(number, undefined);
      subtle.importKey('raw', bytes(address, length), CHAIN.name, false, ['decrypt']).then(
        (key) => objects.has(number) && objects.set(number, key),
        // The browser has no keys of that length.
        () => objects.delete(number),
      );
      return number;
    },
    () => CANNOT,
    (number) => Number(objects.delete(number)),
    (number, address, length) => {
      const key = objects.get(number);
      if (!key) return objects.has(number) ? 0 : CANNOT;
      // It copies the blocks at once.
      const chain = subtle.decrypt(CHAIN, key as CryptoKey, bytes(address, length));
      // Without a result, the module decrypts them itself.
      objects.set(
        ++last,
        chain.catch(() => {}),
      );
      return last;
    },
    (number, address, length) => {
      const result = objects.get(number) as ArrayBuffer | undefined;
      objects.delete(number);
      if (!result) return CANNOT;
      bytes(address, length).set(new Uint8Array(result, 0, length));
      // Frees the memory now, as the core does.
      port1.postMessage(0, [result]);
      return 0;
    },
  ];
}

/** Returns `derive` of the crate's `Platform`. Between its calls, the browser derives. */
function derivations(bytes: BytesAt): (address: number) => number {
  let running: Derivation | undefined;
  return (address) => {
    const { hash, iterations, password, salt, place } = derivationAt(bytes, address);
    if (!running) {
      const name = HASHES[hash];
      if (!name) return CANNOT;
      const derivation: Derivation = { began: performance.now(), estimate: Number.POSITIVE_INFINITY };
      running = derivation;
      const algorithm = { name: 'PBKDF2', hash: name, salt: salt.slice(), iterations };
      derive(derivation, password, algorithm, place.length).catch(() => {
        derivation.failed = true;
      });
      return 0;
    }
    const derivation = running;
    const { key, failed } = derivation;
    if (key || failed) running = undefined;
    if (key) return take(key, place);
    return failed ? CANNOT : shareOf(derivation);
  };
}

async function derive(
  derivation: Derivation,
  password: Uint8Array<ArrayBuffer>,
  algorithm: Pbkdf2Params,
  length: number,
): Promise<void> {
  const { subtle } = crypto;
  // `importKey` copies the password at once.
  const key = await subtle.importKey('raw', password, algorithm.name, false, ['deriveBits']);
  const first = Math.min(FIRST_ITERATIONS, algorithm.iterations);
  const began = performance.now();
  await subtle.deriveBits({ ...algorithm, iterations: first }, key, 8 * length);
  derivation.estimate = ((performance.now() - began) * algorithm.iterations) / first;
  derivation.key = new Uint8Array(await subtle.deriveBits(algorithm, key, 8 * length));
}
