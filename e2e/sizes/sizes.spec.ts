// Large disks to every target, in a window of a profile and in a private one: each equals qemu-img's output, or is refused with
// a sentence. `npm test` takes one size by two routes, the full run by all, the long run has all sizes.

import { rmSync } from 'node:fs';
import { giveFile, loadApi, storage } from '../support/browser.js';
import { expectSame, sparse } from '../support/images.js';
import { convert, convertToStream, hashPieces, hashStored } from '../support/in-page.js';
import { choose } from '../support/page.js';
import { byScope } from '../support/scope.js';
import { expect, test, type Window } from '../support/windows.js';

/** In GiB. */
const SIZES = byScope({ short: [0.5], long: [0.5, 1, 3, 11, 20] });
const PIECE = 16 << 20;

const REFUSED = { kind: 'target', message: expect.stringContaining("the browser's storage has no room for") };

/** Whether the private file system has room for a file of `size` bytes. */
const canStore = async ({ page }: Window, size: number) =>
  (await page.evaluate((size) => window.decant.targets({ size }), size)).find(({ name }) => name === 'opfs')!.fits;

test.describe.configure({ timeout: 900_000 });

for (const gibibytes of SIZES) {
  const size = gibibytes * 2 ** 30;
  for (const incognito of [false, true]) {
    const title = `${gibibytes} GiB in a ${incognito ? 'private window' : 'window of a profile'}`;
    const inPrivate = incognito ? [] : '@full';

    const open = async (openWindow: (incognito: boolean) => Promise<Window>) => {
      const window = await openWindow(incognito);
      await window.page.goto('/blank');
      await loadApi(window.page);
      await giveFile(window.page, sparse(size).image);
      return window;
    };

    test(`${title}, to the private file system`, { tag: '@full' }, async ({ openWindow }) => {
      const window = await open(openWindow);
      const fits = await canStore(window, size);
      // The storage of a private window is a share of the memory.
      if (!incognito) expect(fits).toBe(true);
      const { failed } = await window.page.evaluate(convert, [{ opfs: 'disk.raw' }, {}] as const);
      expect(failed).toEqual(fits ? undefined : REFUSED);
      expect((await storage(window.page)).names).toEqual(fits ? ['disk.raw'] : []);
      if (!fits) return;
      if (incognito) {
        expect(await window.page.evaluate(hashStored, ['disk.raw', PIECE] as const)).toBe(
          hashPieces(sparse(size).raw, PIECE),
        );
      } else {
        expect(window.stored().length).toBe(1);
        expectSame(window.stored()[0]!, sparse(size).raw);
      }
    });

    test(`${title}, as a download`, { tag: '@full' }, async ({ openWindow }) => {
      const window = await open(openWindow);
      const fits = await canStore(window, size);
      if (!incognito) expect(fits).toBe(true);
      const start = () => window.page.evaluate(convert, [{ download: 'disk.raw' }, {}] as const);
      if (!fits) {
        expect((await start()).failed).toEqual(REFUSED);
        expect((await storage(window.page)).names).toEqual([]);
        return;
      }
      const path = await window.download(async () => expect((await start()).failed).toBeUndefined());
      expectSame(path, sparse(size).raw);
      rmSync(path);
    });

    test(`${title}, to a stream`, { tag: '@full' }, async ({ openWindow }) => {
      const window = await open(openWindow);
      const { hash, ended, failed } = await window.page.evaluate(convertToStream, [PIECE, {}] as const);
      expect(failed).toBeUndefined();
      expect(ended).toBe('closed');
      expect(hash).toBe(hashPieces(sparse(size).raw, PIECE));
    });

    test(`${title}, by the page`, { tag: inPrivate }, async ({ openWindow }) => {
      const window = await openWindow(incognito);
      const { page } = window;
      await page.goto('/');
      await choose(page, sparse(size).image);
      await page.getByRole('radio', { name: 'As a download' }).click();
      const path = await window.download(() => page.getByRole('button', { name: 'Convert', exact: true }).click());
      await expect(page.getByRole('heading', { name: /^Done/ })).toBeVisible();
      expectSame(path, sparse(size).raw);
    });
  }
}
