// How large the parts of an upload to S3 are. All have one size, since some servers take no other, unless an output of unknown
// size turns out to need more of them than there may be.

import type { TargetPlan } from '../public/types.js';
import { tooLarge } from './ascending-target.js';
import type { PartSize } from './part-cutter.js';

/** Amazon S3 User Guide, "Multipart upload limits". */
const MOST_PARTS = 10_000;
const SMALLEST = 8 << 20;
/** One lies in memory while it is on its way. */
const LARGEST = 512 << 20;
/** Where nobody knows the size. */
const UNKNOWN = 64 << 20;
/** From this part on an output of unknown size has the largest ones: 1.4 TiB have room. */
const GROWN = 8_000;
/** Compressed data may be as much larger than the disk. */
const OVERHEAD = 1.01;

/** In bytes. Fails where the output has no room in an upload. */
export function partSize({ outputSize, virtualSize }: TargetPlan): number {
  const most = outputSize ?? (virtualSize === undefined ? undefined : virtualSize * OVERHEAD + SMALLEST);
  if (most === undefined) return UNKNOWN;
  const needed = Math.ceil(most / MOST_PARTS / SMALLEST) * SMALLEST;
  if (needed > LARGEST) {
    throw tooLarge(
      `An upload to S3 takes at most ${LARGEST * MOST_PARTS} bytes, and the output may have ${Math.ceil(most)}`,
    );
  }
  return Math.max(SMALLEST, needed);
}

/** The sizes of the parts of an output of unknown size, of which the first ones have `size` bytes. */
export const growingSize =
  (size: number): PartSize =>
  (number) =>
    number < GROWN ? size : LARGEST;

/** Fails where there may not be as many parts: `offset` bytes were sent. */
export function requireRoom(number: number, offset: number): void {
  if (number < MOST_PARTS) return;
  throw tooLarge(`An upload to S3 takes at most ${MOST_PARTS} parts: ${offset} bytes here`);
}
