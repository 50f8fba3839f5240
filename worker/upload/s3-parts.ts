// How large the parts of an upload to S3 are. All have one size: some servers take no other.

import type { TargetPlan } from '../types.js';
import { refusedSize } from './target.js';

/** Amazon S3 User Guide, "Multipart upload limits". */
const MOST_PARTS = 10_000;
const SMALLEST = 8 << 20;
/** One lies in memory while it is on its way. */
const LARGEST = 512 << 20;
/** Where nobody knows the size: enough for 610 GiB. */
const UNKNOWN = 64 << 20;
/** Compressed data may be as much larger than the disk. */
const OVERHEAD = 1.01;

/** In bytes. Fails where the output has no room in an upload. */
export function partSize({ outputSize, virtualSize }: TargetPlan): number {
  const most = outputSize ?? (virtualSize === undefined ? undefined : virtualSize * OVERHEAD + SMALLEST);
  if (most === undefined) return UNKNOWN;
  const needed = Math.ceil(most / MOST_PARTS / SMALLEST) * SMALLEST;
  if (needed > LARGEST) {
    throw refusedSize(
      `An upload to S3 takes at most ${LARGEST * MOST_PARTS} bytes, and the output may have ${Math.ceil(most)}`,
    );
  }
  return Math.max(SMALLEST, needed);
}
