// The size of the content of a compressed file, as the file states it.

import { containerOf, HEAD } from './find-content.js';
import { bgzfParts } from './gzip-index.js';
import type { PackedFile } from './packed-index.js';
import { xzIndex } from './xz-index.js';
import { zstdSize } from './zstd-index.js';

/**
 * Resolves to the size of the content of `file` in bytes, without decoding it; to `undefined` if the file does not state all of it.
 * gzip states the size of a member modulo 2^32, so only that of BGZF is certain. The content may have another size if the file is
 * damaged. Fails as reading does.
 */
export async function statedSize(file: PackedFile): Promise<number | undefined> {
  const container = containerOf(await file.read(0, Math.min(HEAD, file.size)));
  if (container === 'xz') return (await xzIndex(file))?.size;
  if (container === 'zstd') return zstdSize(file);
  const blocks = container === 'gzip' && file.isLocal ? await bgzfParts(file) : undefined;
  return blocks?.reduce((size, block) => size + block.size!, 0);
}
