// The quota that a conversion to the browser's storage uses is released when its file is removed.

import { execFileSync } from 'node:child_process';
import { giveFile, loadApi, storage } from '../support/browser.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/windows.js';

/** Folders and journals use a little quota, with a delay. */
const SLACK = 1 << 20;

type Ends = 'done' | 'failed' | 'cancelled' | 'kept';
/** A conversion, and its outcome. */
interface Asked {
  format: string;
  formatOptions: Record<string, string>;
  ends: Ends;
}

const ENDS: Ends[] = ['done', 'failed', 'cancelled', 'kept'];

test('every output gives back the room that it was charged for', { tag: '@full' }, async ({ openWindow }, testInfo) => {
  test.setTimeout(600_000);
  const packed = testInfo.outputPath('disk.raw.gz');
  execFileSync('sh', ['-c', `gzip -1c '${images.raw()}' > '${packed}'`]);
  // In a private window, files in memory count.
  const { page } = await openWindow(false);
  let before: number | undefined;
  for (const path of [images.zlib(), packed]) {
    await page.goto('/blank');
    await loadApi(page);
    await giveFile(page, path);
    const formats = await page.evaluate(async () => {
      const image = await window.decant.open(window.file);
      await image.close();
      return image.formats.filter(({ refusal }) => !refusal).map(({ name, recommended }) => ({ name, recommended }));
    });
    expect(formats.length).toBeGreaterThan(1);
    before ??= (await storage(page)).usage;
    for (const { name: format, recommended } of formats) {
      for (const ends of ENDS) {
        const row = `${path.endsWith('.gz') ? 'in order' : 'at random'}, ${format}, ${ends}`;
        const seen = await page.evaluate(
          async ({ format, formatOptions, ends }: Asked) => {
            const root = await navigator.storage.getDirectory();
            const { file } = window;
            const abort = new AbortController();
            let isOpen = false;
            const source = {
              size: file.size,
              name: file.name,
              state: 'one',
              async read(offset: number, length: number) {
                if (isOpen && offset + length > file.size * 0.7) {
                  if (ends === 'cancelled') abort.abort();
                  if (ends === 'failed' || ends === 'kept') throw new Error('gone');
                }
                return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
              },
            };
            const image = await window.decant.open(source, { engine: 'workers', workers: 3 });
            isOpen = true;
            const [output, options] = [{ opfs: 'out' }, { format, formatOptions, resume: ends === 'kept' }];
            const ended = await image.convert(output, { ...options, signal: abort.signal }).then(
              () => 'done',
              ({ kind }) => kind,
            );
            if (ended === 'done') await root.removeEntry('out');
            if (ends === 'kept')
              await (await image.savedProgress(output, { format, formatOptions }).catch(() => undefined))?.discard();
            await image.close();
            return ended;
          },
          { format, formatOptions: recommended, ends },
        );
        const expected = { done: ['done'], failed: ['source'], cancelled: ['cancelled'], kept: ['source', 'usage'] };
        expect(expected[ends], row).toContain(seen);
        await expect.poll(async () => (await storage(page)).usage - before!, row).toBeLessThan(SLACK);
      }
    }
  }
});
