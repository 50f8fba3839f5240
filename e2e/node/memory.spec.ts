// Lack of memory in the shipped wasm: the conversion fails with `internal`, in the coordinator and in a pool worker, and leaves
// nothing. It is never reported as damage, and never loses data. Images in memory take none after they are closed.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashFile, images } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { byScope } from '../support/scope.js';
import { packageWithMemory } from '../support/wasm-memory.js';

const program = fileURLToPath(new URL('../support/convert-once.mjs', import.meta.url));

/** By how many pages of 64 KiB the memory may grow: from none to enough. */
const FEW = [0, 8, 128, 2048];
const SAMPLE = [0, 2, 8, 32, 128, 2048];
const ALL = Array.from({ length: 40 }, (_, at) => at * 4).concat(2048);
const LIMITS = byScope({ short: FEW, full: SAMPLE, long: ALL });

/** The end of a conversion without memory: an error, or a trap that ends its worker. */
function end(message: string | undefined): string {
  if (message === undefined) return 'done';
  return message.includes('not enough memory') ? 'answered' : 'trapped';
}

for (const [name, image, tag] of [
  ['zlib', images.zlib, []],
  ['zstd', images.zstd, ['@full']],
] as const) {
  test(`${name}: a lack of memory is reported as such`, { tag: [...tag] }, ({ folder }) => {
    test.slow();
    const ends = new Set<string>();
    for (const pages of LIMITS) {
      const main = packageWithMemory(join(folder, String(pages)), pages);
      for (const salvage of [false, true]) {
        const output = join(folder, `${pages}-${salvage}.raw`);
        const { stdout, stderr, status } = spawnSync(process.execPath, [program, main, image(), output, `${salvage}`], {
          encoding: 'utf8',
          timeout: 120_000,
        });
        const what = `${pages} pages, salvage ${salvage}: ${stdout}${stderr}`;
        expect(status, what).toBe(0);
        const result: { kind?: string; message?: string; lostBytes?: number } = JSON.parse(stdout);
        ends.add(end(result.message));
        if (result.kind === undefined) {
          expect(result.lostBytes, what).toBe(0);
          expect(hashFile(output), what).toBe(hashFile(images.raw()));
        } else {
          expect(result.kind, what).toBe('internal');
          expect(existsSync(output), what).toBe(false);
        }
      }
    }
    expect([...ends].sort()).toEqual(['answered', 'done', 'trapped']);
  });
}

/** Prints by how many MiB the process has grown since its first image. */
const OPEN_AND_CLOSE = `
  const [, path, ...counts] = process.argv;
  const { open } = await import(path);
  const bytes = new Uint8Array(16 << 20).fill(1);
  const grown = [];
  for (const count of counts) {
    for (let at = 0; at < Number(count); at += 1) {
      const image = await open(bytes, { inputFormat: 'raw' });
      if ((await image.read(bytes.length - 1, 1))[0] !== 1) throw new Error('other bytes');
      await image.close();
    }
    grown.push(process.memoryUsage.rss() >> 20);
  }
  console.log(String(grown[1] - grown[0]));`;

test('200 images in memory take no more than one', () => {
  const { href } = new URL('../../dist/node.js', import.meta.url);
  const args = ['--input-type=module', '-e', OPEN_AND_CLOSE, href, '1', '199'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^-?\d+\n$/);
  // Blobs of them took more than 3000.
  expect(Number(stdout)).toBeLessThan(100);
});
