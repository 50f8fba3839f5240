// LUKS volumes are unlocked and decrypted by the browser where it can, and otherwise by the package.

import { expect, giveFile, hashOpfs, loadApi, test } from '../support/browser.js';
import { hashFile, images, PASSWORD } from '../support/images.js';

declare global {
  interface Window {
    /** What the browser was asked for: the iterations of derivations, and the bytes of decryptions. */
    asked: { derived: number[]; decrypted: number[] };
  }
}

/** Runs in a worker before its own script. */
const REPORT = `{
  const channel = new BroadcastChannel('asked');
  const { deriveBits, decrypt } = SubtleCrypto.prototype;
  SubtleCrypto.prototype.deriveBits = function (how, ...others) {
    channel.postMessage({ derived: how.iterations });
    return deriveBits.call(this, how, ...others);
  };
  SubtleCrypto.prototype.decrypt = function (how, key, bytes) {
    if (key.extractable) throw new Error('the key can be extracted');
    channel.postMessage({ decrypted: bytes.length });
    return decrypt.call(this, how, key, bytes);
  };
}
`;
const FAIL = `for (const name of ['deriveBits', 'decrypt']) {
  SubtleCrypto.prototype[name] = () => Promise.reject(new Error('failed'));
}
`;
const LACK = `Object.defineProperty(crypto, 'subtle', { value: undefined });`;

for (const { by, script, asks = false, tag } of [
  { by: 'the browser', script: REPORT, asks: true, tag: [] },
  { by: 'a browser that fails', script: FAIL, tag: ['@full'] },
  { by: 'a browser without a secure context', script: LACK, tag: ['@full'] },
]) {
  test(`a LUKS volume is unlocked by ${by}, and the disk is right`, { tag }, async ({ page, servers }) => {
    servers.isolated.alter = (path, own) => (/\/worker[.\w-]*\.js$/.test(path) ? script + own : own);
    await page.goto('/blank');
    await loadApi(page);
    await giveFile(page, images.luks());
    const wrong = await page.evaluate(async (password) => {
      window.asked = { derived: [], decrypted: [] };
      new BroadcastChannel('asked').onmessage = ({ data }) => {
        for (const [what, amount] of Object.entries(data)) window.asked[what as 'derived'].push(amount as number);
      };
      const image = await window.decant.open(window.file, { engine: 'workers', password: `not ${password}` });
      const code = await image.unlock().then(
        () => 'unlocked',
        ({ code }: { code: string }) => code,
      );
      await image.close();
      return code;
    }, PASSWORD);
    expect(wrong).toBe('password-wrong');
    await page.evaluate(async (password) => {
      const image = await window.decant.open(window.file, { engine: 'workers', password });
      await image.convert({ opfs: 'out.raw' });
      await image.close();
    }, PASSWORD);
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
    if (!asks) return;
    for (const what of ['derived', 'decrypted'] as const) {
      await expect.poll(() => page.evaluate((what) => window.asked[what].length, what)).toBeGreaterThan(0);
    }
  });
}
