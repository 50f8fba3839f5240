// PBKDF2 by the browser. Its AES is not used: it needs promises, and a job is decrypted without waiting.

import { ALL, CANNOT, type CryptExports, lend, take } from './platform.js';

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

/** Lets the instance with these exports use the browser's function. Pages without a secure context have none. */
export function usePlatform(exports: CryptExports): void {
  if (!crypto.subtle) return;
  const cannot = () => CANNOT;
  lend(exports, [cannot, cannot, cannot, derivations(exports.memory)]);
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
