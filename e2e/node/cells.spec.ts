// The picture of progress: cells of equal length.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { open, type Progress } from '../../dist/node.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

for (const [name, image, most, tag] of [
  ['of a disk with data', images.zlib, 4096, []],
  ['of a disk without data', images.empty, 4096, ['@full']],
] as const) {
  test(`cells ${name} are done one by one, and all of them at the end`, { tag: [...tag] }, async ({ folder }) => {
    const opened = await open(image(), { workers: 2 });
    const seen: Progress[] = [];
    await opened.convert(join(folder, 'out.raw'), { onProgress: (progress) => seen.push(progress) });
    const { virtualSize } = opened.info;
    await opened.close();
    const length = Math.ceil(virtualSize! / most);
    for (const { cells, guestDone } of seen) {
      expect(cells!.length).toBe(Math.ceil(virtualSize! / length));
      const done = cells!.filter((cell) => cell === 1).length;
      expect([...new Set(cells)].every((cell) => cell === 0 || cell === 1)).toBe(true);
      expect(done * length).toBeLessThan(guestDone! + length);
    }
    for (const [at, { cells }] of seen.slice(1).entries()) {
      expect(seen[at]!.cells!.every((cell, index) => cell <= cells![index]!)).toBe(true);
    }
    expect(seen[0]!.cells!.includes(1)).toBe(false);
    expect(seen.at(-1)!.cells!.includes(0)).toBe(false);
  });
}

test('a disk whose size is known only at its end has no cells', { tag: '@full' }, async ({ folder }) => {
  const opened = await open(new Blob([gzipSync(randomBytes(16 << 20))]));
  const seen: Progress[] = [];
  await opened.convert(join(folder, 'out.raw'), { onProgress: (progress) => seen.push(progress) });
  await opened.close();
  expect(seen.map(({ cells }) => cells)).toEqual(seen.map(() => undefined));
});
