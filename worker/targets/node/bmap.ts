// The bmap of a raw disk: bmaptool's XML, which lists the blocks with data, so that only these are copied to a device.

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { cancelled } from '../../errors/errors.js';
import { fileError } from '../../errors/file-error.js';
import type { DiskRange, Extent } from '../../public/types.js';
import type { OutputPath } from './output-path.js';

/** The size of blocks, in bytes: that of pages and of most file systems. */
const BLOCK = 4096;
/** How much is read at a time, in bytes. */
const PIECE = 1 << 20;

const sha256 = () => createHash('sha256');

/**
 * Resolves to the bmap of the raw disk in the file `path`, which was made from an image with these `extents`; without extents, all of the disk
 * counts as data. Bytes in `rewritten` are data, too. Fails with `target` if the file cannot be read, as `extents` does, and with `cancelled`.
 */
export async function bmapOf(
  extents: AsyncIterable<Extent> | undefined,
  { path, given }: OutputPath,
  { outputSize, rewritten }: { outputSize: number; rewritten: readonly DiskRange[] },
  signal: AbortSignal,
): Promise<string> {
  const ranges = rewritten.map(({ offset, length }) => blocksOf(offset, length));
  if (!extents && outputSize > 0) ranges.push(blocksOf(0, outputSize));
  for await (const { offset, length, kind } of extents ?? [])
    if (kind === 'data') ranges.push(blocksOf(offset, length));
  const lines: string[] = [];
  const mapped = joined(ranges);
  let file: FileHandle | undefined;
  try {
    file = await open(given);
    for (const [first, last] of mapped) {
      const digest = await digestOf(file, first * BLOCK, Math.min((last + 1) * BLOCK, outputSize), signal);
      lines.push(`        <Range chksum="${digest}"> ${first === last ? first : `${first}-${last}`} </Range>\n`);
    }
  } catch (thrown) {
    throw fileError(thrown, 'target', `read '${path}'`);
  } finally {
    await file?.close();
  }
  const count = mapped.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const text = (checksum: string) =>
    `<?xml version="1.0" ?>
<bmap version="2.0">
    <ImageSize> ${outputSize} </ImageSize>
    <BlockSize> ${BLOCK} </BlockSize>
    <BlocksCount> ${Math.ceil(outputSize / BLOCK)} </BlocksCount>
    <MappedBlocksCount> ${count} </MappedBlocksCount>
    <ChecksumType> sha256 </ChecksumType>
    <BmapFileChecksum> ${checksum} </BmapFileChecksum>
    <BlockMap>
${lines.join('')}    </BlockMap>
</bmap>
`;
  // The checksum is that of the text with zeros in its place.
  return text(
    sha256()
      .update(text('0'.repeat(64)))
      .digest('hex'),
  );
}

type Blocks = [first: number, last: number];

/** The blocks in which `length` bytes from `offset` on are. */
const blocksOf = (offset: number, length: number): Blocks => [
  Math.floor(offset / BLOCK),
  Math.floor((offset + length - 1) / BLOCK),
];

/** Sorts `ranges`, and joins those that touch. */
function joined(ranges: Blocks[]): Blocks[] {
  const result: Blocks[] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = result.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else result.push([first, last]);
  }
  return result;
}

async function digestOf(file: FileHandle, start: number, end: number, signal: AbortSignal): Promise<string> {
  const hash = sha256();
  const buffer = Buffer.allocUnsafe(Math.min(PIECE, end - start));
  for (let at = start; at < end; ) {
    if (signal.aborted) throw cancelled();
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at), at);
    if (bytesRead === 0) throw new Error('it was truncated');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest('hex');
}
