// AES-XTS by WebCrypto: the same bytes as by `crypt.wasm` alone.

import { expect, test } from '../support/browser.js';
import { bundle } from '../support/bundle.js';

const MODULE = '/crypt-module.js';

test.beforeEach(async ({ page, servers }) => {
  servers.isolated.scripts.set(MODULE, await bundle('e2e/support/crypt-module.ts'));
  await page.goto('/blank');
});

for (const { bits, chains, tag } of [
  { bits: 128, chains: true, tag: '@full' },
  // Chromium has no such keys, and the module decrypts.
  { bits: 192, chains: false, tag: '@full' },
  { bits: 256, chains: true, tag: [] },
]) {
  test(`AES-XTS with keys of ${bits} bits gives the same bytes as without WebCrypto`, { tag }, async ({ page }) => {
    const { different, asked } = await page.evaluate(
      async ({ path, bits }) => {
        const { CryptModule, cipher, settled, useBrowser }: typeof import('../support/crypt-module.js') = await import(
          path
        );
        const module = await WebAssembly.compileStreaming(fetch('/dist/crypt.wasm'));
        const [own, browser] = [new CryptModule(module), new CryptModule(module, useBrowser)];
        const { decrypt } = SubtleCrypto.prototype;
        let asked = 0;
        SubtleCrypto.prototype.decrypt = function (...given) {
          asked += 1;
          return decrypt.apply(this, given);
        };
        const noise = (length: number) => crypto.getRandomValues(new Uint8Array(length));
        const different: string[] = [];
        for (const sector of [512, 1024, 2048, 4096]) {
          for (const [iv, offset] of [
            [0, 0n],
            [1, 0n],
            [1, 2n ** 33n + 8n],
          ] as const) {
            const key = cipher(0, iv, sector, offset, noise(bits / 4));
            // The last one is too short to be worth it.
            const inputs = [0n, 77n, 2n ** 32n - 1n, 2n ** 40n + 3n].flatMap((first) =>
              [65_536, 16_384, 53_248, 8192].map((length): [bigint, Uint8Array] => [first, noise(length)]),
            );
            const expected = own.decrypted(key, inputs);
            const outputs = await browser.decryptedAside(key, inputs, settled);
            for (const [at, [first, { length }]] of inputs.entries()) {
              if (outputs[at]!.every((byte, i) => byte === expected[at]![i])) continue;
              different.push(`${length} bytes in sectors of ${sector} from ${first}, ${iv}, ${offset}`);
            }
          }
        }
        return { different, asked };
      },
      { path: MODULE, bits },
    );
    expect(different).toEqual([]);
    expect(asked).toBe(chains ? 4 * 3 * 4 * 3 : 0);
  });
}
