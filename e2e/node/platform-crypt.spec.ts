// AES, PBKDF2 and hashes by Node, and PBKDF2 by browsers, whose WebCrypto Node has too: the same bytes as by `crypt.wasm` alone, whatever they lack.

import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { CryptExports } from '../../worker/worker-side/crypt-platform.js';
import { usePlatform } from '../../worker/worker-side/node-crypt.js';
import { CryptModule, cipher, decoded, encoded, useBrowser } from '../support/crypt-module.js';
import { PASSWORD, qemuImgLuks } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { random } from '../support/random.js';
import { byScope } from '../support/scope.js';

const MODULE = new WebAssembly.Module(readFileSync(new URL('../../dist/crypt.wasm', import.meta.url)));

/** The kinds of answers (`crate/crypt/src/answer.rs`). */
const [FOUND, WRONG_PASSWORD, BUSY, NEEDS] = [1, 6, 7, 8];

class Crypt extends CryptModule {
  constructor(use?: (exports: CryptExports) => void) {
    super(MODULE, use);
  }

  /** Checks the password of the LUKS volume `file`, of version 1. Returns the last answer, and how often it was busy. */
  async unlocked(file: Uint8Array, password: string): Promise<{ answer: Uint8Array; busy: number }> {
    const start = file.subarray(0, 592);
    const secret = Buffer.concat([start, Buffer.from(password)]);
    this.serve([0, 2, ...encoded(start.length), 0], secret, 4);
    for (let [busy, input] = [0, new Uint8Array()]; ; busy += 1) {
      const answer = this.serve([1, 0, 3], input, 2048);
      if (answer[0] !== BUSY && answer[0] !== NEEDS) return { answer, busy };
      const [at = 0, length = 0] = decoded(answer.subarray(1));
      input = answer[0] === NEEDS ? file.slice(at, at + length) : new Uint8Array();
      await setTimeout(1);
    }
  }
}

type Functions = Partial<
  Pick<typeof crypto, 'createCipheriv' | 'createDecipheriv' | 'createHash' | 'pbkdf2' | 'pbkdf2Sync'>
>;

/** Does `work` while functions of `node:crypto` are others. */
async function withFunctions<T>(others: Functions, work: () => T | Promise<T>): Promise<T> {
  const own = { ...crypto };
  Object.assign(crypto, others);
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    for (const name of Object.keys(others)) Object.assign(crypto, { [name]: own[name as keyof typeof crypto] });
    syncBuiltinESMExports();
  }
}

const lacking = () => {
  throw new Error('unsupported');
};

/** Ciphers whose `update` is changed by `change`. */
function ciphers(change: (update: (bytes: Uint8Array) => Buffer) => (bytes: Uint8Array) => Buffer): Functions {
  const changed = (create: typeof crypto.createCipheriv | typeof crypto.createDecipheriv) =>
    ((name: string, key: Uint8Array, iv: null) => {
      const cipher = create(name, key, iv);
      return Object.assign(cipher, { update: change(cipher.update.bind(cipher)) });
    }) as never;
  return { createCipheriv: changed(crypto.createCipheriv), createDecipheriv: changed(crypto.createDecipheriv) };
}

let done = 0;
const counting = ciphers((update) => (bytes) => {
  done += bytes.length;
  return update(bytes);
});
const keepingBack = ciphers((update) => {
  let kept = Buffer.alloc(0);
  return (bytes) => {
    const all = Buffer.concat([kept, update(bytes)]);
    kept = all.subarray(-16);
    return all.subarray(0, -16);
  };
});
const failingLater = ciphers((update) => {
  let calls = 0;
  return (bytes) => (++calls > 2 ? lacking() : update(bytes));
});

const NOISE = new Uint8Array(2 << 20).map(
  (
    (next) => () =>
      next() * 256
  )(random(1)),
);
/** Bytes from anywhere in the noise. */
const noise = (next: () => number, length: number) => {
  const start = Math.floor(next() * (NOISE.length - length));
  return NOISE.slice(start, start + length);
};

for (const [name, functions, byNode] of [
  ['by Node', counting, true],
  ['by a Node without AES', { createCipheriv: lacking, createDecipheriv: lacking }, false],
  ['by a Node that keeps blocks back', keepingBack, false],
  ['by a Node whose memory runs out', failingLater, false],
] as [string, Functions, boolean][]) {
  test(`AES ${name} gives the same bytes as without`, async () => {
    const next = random(32);
    const some = (values: number[]) => values[Math.floor(next() * values.length)]!;
    done = 0;
    let wanted = 0;
    await withFunctions(functions, () => {
      const [own, others] = [new Crypt(), new Crypt(usePlatform)];
      for (let round = 0; round < byScope({ short: 30, full: 120 }); round += 1) {
        const [mode, iv, sector] = [some([0, 0, 1, 2, 3]), some([0, 1, 2]), some([512, 1024, 4096])];
        const offset = BigInt(some([0, 0, 5, 2 ** 33]));
        const key = cipher(mode, iv, sector, offset, noise(next, some([16, 24, 32]) * (mode === 0 ? 2 : 1)));
        const inputs = Array.from({ length: 4 }, (): [bigint, Uint8Array] => {
          const first = BigInt(some([0, 1, 77, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 3])) + BigInt(some([0, 8, 1e9]));
          return [first, noise(next, some([1, 2, 7, 8, 9, 31, 300]) * sector)];
        });
        wanted += inputs.reduce((sum, [, { length }]) => sum + length, 0);
        const expected = own.decrypted(key, inputs);
        for (const [i, output] of others.decrypted(key, inputs).entries()) {
          expect(Buffer.compare(output, expected[i]!), `mode ${mode}, ${iv}, sectors of ${sector}: ${i}`).toBe(0);
        }
      }
    });
    // With the tweaks, somewhat more than the data; without those of a few blocks.
    expect(done > wanted).toBe(byNode);
  });
}

let digests = 0;
const countingHashes: Functions = {
  createHash: ((name: string) => {
    digests += 1;
    return crypto.createHash(name);
  }) as never,
};

/** The hash `number` of the crate's `Hash`, of `parts`. */
function hashed(module: Crypt, number: number, parts: Uint8Array[]): string {
  const [hasher] = module.serve([0, 1, number], new Uint8Array(), 4);
  for (const part of parts) module.serve([1, hasher!, 1], part, 0);
  const digest = module.serve([1, hasher!, 2], new Uint8Array(), HASH_LENGTHS[number]!);
  // The hash is of all bytes so far, and can go on.
  module.serve([1, hasher!, 1], parts[0]!, 0);
  const longer = module.serve([1, hasher!, 2], new Uint8Array(), HASH_LENGTHS[number]!);
  module.serve([2, hasher!], new Uint8Array(), 0);
  return Buffer.concat([digest, longer]).toString('hex');
}

const HASH_LENGTHS = [16, 20, 20, 28, 32, 48, 64];

for (const [name, functions, byNode] of [
  ['by Node', countingHashes, true],
  ['by a Node without them', { createHash: lacking }, false],
] as [string, Functions, boolean][]) {
  test(`hashes ${name} are the same as without`, async () => {
    digests = 0;
    await withFunctions(functions, () => {
      const [own, others] = [new Crypt(), new Crypt(usePlatform)];
      const next = random(7);
      for (const number of HASH_LENGTHS.keys()) {
        const parts = [0, 1, 63, 64, 100_000].map((length) => noise(next, length));
        expect(hashed(others, number, parts), `hash ${number}`).toBe(hashed(own, number, parts));
      }
    });
    expect(digests > 0).toBe(byNode);
  });
}

for (const [hash, tag] of [
  ['sha256', []],
  ['sha1', ['@full']],
  ['sha512', ['@full']],
  ['ripemd160', ['@full']],
] as const) {
  test(`PBKDF2 by Node gives the same key: ${hash}`, { tag: [...tag] }, async ({ folder }) => {
    const path = join(folder, 'volume.luks');
    // 32,768 iterations.
    const options = `key-secret=s,hash-alg=${hash},iter-time=1000`;
    qemuImgLuks('create', '-q', '--object', `secret,id=s,data=${PASSWORD}`, '-f', 'luks', '-o', options, path, '1M');
    const file = readFileSync(path);
    const { answer } = await new Crypt().unlocked(file, PASSWORD);
    expect(answer[0]).toBe(FOUND);

    const { pbkdf2 } = crypto;
    let begun = 0;
    const count = ((...given: Parameters<typeof pbkdf2>) => {
      begun += 1;
      pbkdf2(...given);
    }) as typeof pbkdf2;
    const failing = ((...given: Parameters<typeof pbkdf2>) =>
      void setTimeout(20).then(() => given[5](new Error('failed'), Buffer.alloc(0)))) as unknown as typeof pbkdf2;
    for (const [functions, expected] of [
      [{ pbkdf2: count }, 1],
      [{ pbkdf2Sync: lacking }, 0],
      [{ pbkdf2: failing }, 0],
    ] as [Functions, number][]) {
      begun = 0;
      const unlocked = await withFunctions(functions, () => new Crypt(usePlatform).unlocked(file, PASSWORD));
      expect(Buffer.compare(unlocked.answer, answer)).toBe(0);
      // The digest of the key has few iterations.
      expect(begun).toBe(expected);
    }
    for (const use of [usePlatform, useBrowser]) {
      const right = await new Crypt(use).unlocked(file, PASSWORD);
      expect(Buffer.compare(right.answer, answer)).toBe(0);
      const wrong = await new Crypt(use).unlocked(file, 'wrong');
      expect(wrong.answer[0]).toBe(WRONG_PASSWORD);
    }
  });
}
