// AES and PBKDF2 by the browser, which uses instructions of the processor for them.

import { ALL, CANNOT, type CryptExports, lend, type PlatformFunction, take } from './platform.js';

/** The numbers of the crate's `Hash` for the hashes that browsers have. */
const HASHES: Partial<Record<number, string>> = { 1: 'SHA-1', 4: 'SHA-256', 5: 'SHA-384', 6: 'SHA-512' };
/** How many iterations are done first, to see how fast they are. They take some milliseconds. */
const FIRST_ITERATIONS = 10_000;

interface Derivation {
  began: number;
  /** How long it takes, in milliseconds. */
  estimate: number;
  key?: Uint8Array;
  failed?: boolean;
}

/** AES-CBC without an initialisation vector. */
const CHAIN = { name: 'AES-CBC', iv: new Uint8Array(16) };

/** Keys, and what was begun or its results, by their numbers. */
const objects = new Map<number, unknown>();
let last = 0;

/** Lets the instance with these exports use the browser's functions. Pages without a secure context have none. */
export function usePlatform(exports: CryptExports): void {
  if (crypto.subtle) lend(exports, [...chains(exports.memory), derivations(exports.memory)]);
}

/** Resolves when `take` can use the result with this number, which `begin` returned. */
export async function settled(number: number): Promise<void> {
  objects.set(number, await objects.get(number));
}

/** Returns `prepare`, `run`, `free`, `begin` and `take` of the crate's `Platform`. */
function chains(memory: WebAssembly.Memory): PlatformFunction[] {
  const { subtle } = crypto;
  const { port1, port2 } = new MessageChannel();
  port2.close();
  const bytes = (address: number, length: number) => new Uint8Array(memory.buffer, address, length);
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
function derivations(memory: WebAssembly.Memory): (address: number) => number {
  let running: Derivation | undefined;
  return (address) => {
    const fields = new Uint32Array(memory.buffer, address, 8) as unknown as [
      ...[hash: number, iterations: number, password: number, passwordLength: number],
      ...[salt: number, saltLength: number, key: number, keyLength: number],
    ];
    const [hash, iterations, password, passwordLength, salt, saltLength, place, length] = fields;
    const bytes = (at: number, length: number) => new Uint8Array(memory.buffer, at, length);
    if (!running) {
      const name = HASHES[hash];
      if (!name) return CANNOT;
      const derivation: Derivation = { began: performance.now(), estimate: Number.POSITIVE_INFINITY };
      running = derivation;
      const algorithm = { name: 'PBKDF2', hash: name, salt: bytes(salt, saltLength).slice(), iterations };
      derive(derivation, bytes(password, passwordLength), algorithm, length).catch(() => {
        derivation.failed = true;
      });
      return 0;
    }
    const { began, estimate, key, failed } = running;
    if (key || failed) running = undefined;
    if (key) return take(key, bytes(place, length));
    return failed ? CANNOT : Math.min(ALL - 1, Math.floor((ALL * (performance.now() - began)) / estimate));
  };
}

async function derive(
  derivation: Derivation,
  password: Uint8Array<ArrayBuffer>,
  algorithm: Pbkdf2Params,
  length: number,
): Promise<void> {
  const { subtle } = crypto;
  // It copies the password at once.
  const key = await subtle.importKey('raw', password, algorithm.name, false, ['deriveBits']);
  const first = Math.min(FIRST_ITERATIONS, algorithm.iterations);
  const began = performance.now();
  await subtle.deriveBits({ ...algorithm, iterations: first }, key, 8 * length);
  derivation.estimate = ((performance.now() - began) * algorithm.iterations) / first;
  derivation.key = new Uint8Array(await subtle.deriveBits(algorithm, key, 8 * length));
}
