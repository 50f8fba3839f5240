// Lack of memory in the shipped wasm: the conversion fails with `internal`, in the coordinator and in a pool worker, and leaves
// nothing. It is never reported as damage, and never loses data.

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
const SAMPLE = [0, 2, 8, 32, 128, 2048];
const ALL = Array.from({ length: 40 }, (_, at) => at * 4).concat(2048);
const LIMITS = byScope({ short: SAMPLE, long: ALL });

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
