// Part sizes of uploads to S3. All parts have one size, as some servers require, unless an output of unknown size would need too
// many.

import type { TargetPlan } from '../public/types.js';
import { tooLarge } from './ascending-target.js';
import type { PartSize } from './part-cutter.js';

/** Amazon S3 User Guide, "Multipart upload limits". */
const MOST_PARTS = 10_000;
/** The size of the smallest parts, in bytes. */
export const SMALLEST_PART = 8 << 20;
/** Parts are held in memory while they are sent. */
const LARGEST = 512 << 20;
/** For an unknown size. */
const UNKNOWN = 64 << 20;
/** From this part on, an output of unknown size has the largest parts: 1.4 TiB fit. */
const GROWN = 8_000;
/** Compressed data may be this much larger than the disk. */
const OVERHEAD = 1.01;

/** Returns the part size in bytes. Fails if the output is too large. */
export function partSize({ outputSize, virtualSize }: TargetPlan): number {
  const most = outputSize ?? (virtualSize === undefined ? undefined : virtualSize * OVERHEAD + SMALLEST_PART);
  if (most === undefined) return UNKNOWN;
  const needed = Math.ceil(most / MOST_PARTS / SMALLEST_PART) * SMALLEST_PART;
  if (needed > LARGEST) {
    throw tooLarge(
      `An upload to S3 can have at most ${LARGEST * MOST_PARTS} bytes, but the output may have ${Math.ceil(most)}`,
    );
  }
  return Math.max(SMALLEST_PART, needed);
}

/** Returns the part sizes of an output of unknown size, starting with `size` bytes. */
export const growingSize =
  (size: number): PartSize =>
  (number) =>
    number < GROWN ? size : LARGEST;

/** Fails if `number` exceeds the maximum. `offset` bytes were sent. */
export function requireRoom(number: number, offset: number): void {
  if (number < MOST_PARTS) return;
  throw tooLarge(`An upload to S3 can have at most ${MOST_PARTS} parts, here ${offset} bytes`);
}
