// The probe of the browser's rates, beside what sweeps the private storage.

import { expect, storage, test } from '../support/browser.js';
import { bundle } from '../support/bundle.js';

const RATES = '/test/rates.js';

test('the probe is not swept away, and leaves nothing', { tag: '@full' }, async ({ apiPage, servers }) => {
  servers.isolated.scripts.set(RATES, await bundle('element/ways/rates.ts'));
  const rates = await apiPage.evaluate(async (url) => {
    const { currentRates, probe } = (await import(url)) as typeof import('../../element/ways/rates.js');
    const { createWritable } = FileSystemFileHandle.prototype;
    FileSystemFileHandle.prototype.createWritable = async function (options) {
      await window.decant.removeLeftovers();
      // Rejects where it is gone; not every browser's `createWritable` does.
      await this.getFile();
      return createWritable.call(this, options);
    };
    const first = Promise.all([currentRates(probe), currentRates(probe)]);
    // As another tab does.
    await probe();
    return first;
  }, RATES);
  for (const each of rates) expect(each!.rates.storage).toBeGreaterThan(0);
  expect((await storage(apiPage)).names).toEqual([]);
});
