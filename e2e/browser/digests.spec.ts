// Digests in pages, by both engines and for workers that write by themselves.

import { execFileSync } from 'node:child_process';
import { ENGINES, expect, giveFile, test } from '../support/browser.js';
import { hashFile, PASSWORD, small } from '../support/images.js';

for (const [engine, details] of ENGINES) {
  test(`digests alone and during conversions, ${engine}`, details, async ({ apiPage: page }) => {
    const expected = hashFile(small.raw());
    for (const image of ['zlib', 'luks'] as const) {
      await giveFile(page, small[image]());
      const found = await page.evaluate(
        async ({ engine, password }) => {
          const image = await window.decant.open(window.file, { engine, password });
          const alone = await image.digest();
          const tree = await image.digest({ tree: true });
          const during: (string | undefined)[] = [];
          for (const format of ['raw', 'vhdx', 'raw.gz'])
            during.push((await image.convert({ opfs: 'out' }, { format, digest: true })).digest?.sha256);
          await image.close();
          await (await navigator.storage.getDirectory()).removeEntry('out');
          return { alone: alone.sha256, tree: tree.fsverity, during };
        },
        { engine, password: PASSWORD },
      );
      const fsverity = execFileSync('fsverity', ['digest', small.raw()], { encoding: 'utf8' }).split(' ')[0];
      expect(found).toEqual({ alone: expected, tree: fsverity, during: [expected, expected, expected] });
    }
  });
}
