// The text of digests.

import { createHash } from 'node:crypto';
import { humanSize } from '../errors/sizes.js';
import type { DigestedDisk, DiskDigest, TreeDigest } from '../public/types.js';
import { print, report, reportLostRanges } from './printing.js';

const GIB = 2 ** 30;
/** Sizes of disks in bytes from which hashing takes long, and too long for many people. */
const LONG = 64 * GIB;
const TOO_LONG = 256 * GIB;

/** How many zeros are hashed to measure the speed: about as many as in 20 milliseconds. */
const SAMPLE = 32 << 20;

/** A line in the form of sha256sum, which escapes some characters of the name and then begins with a backslash. */
export function digestLine(digest: string, name: string): string {
  const escaped = name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `${escaped === name ? '' : '\\'}${digest}  ${escaped}`;
}

/** The digest of the disk `name`, for programs. */
export function digestObject(digest: DiskDigest | TreeDigest, name: string): object {
  const { lost, lostRanges, lostBytes, size, notices: _, ...digests } = digest;
  const losses = lostBytes > 0 && { lostRanges, lostBytes, lost };
  return { image: name, size, ...digests, ...losses };
}

/** Prints the digests of the disks `names`, in their order; `toReports` to standard error. */
export function printDigests(digests: readonly DiskDigest[], names: readonly string[], toReports: boolean): void {
  for (const [at, { sha256 }] of digests.entries()) (toReports ? report : print)(digestLine(sha256, names[at]!));
}

/** Reports what is missing in the digest of the disk that `shown` names. Returns whether it is that of the whole, undamaged disk. */
export function reportLosses({ lost, lostRanges, lostBytes, notices = [] }: DigestedDisk, shown: string): boolean {
  if (lostBytes === 0) return notices.every(({ code }) => code !== 'checksum-mismatch');
  reportLostRanges(lost, lostRanges);
  report(
    `${shown} is damaged: ${lostBytes} bytes of the disk were lost or may be wrong, so the digest is of another disk`,
  );
  return false;
}

/** Reports before the work how long a SHA-256 of a large disk takes, and for a very large one, what to use instead. */
export function reportTime(size: number | undefined): void {
  if (size === undefined || size < LONG) return;
  const began = performance.now();
  createHash('sha256').update(new Uint8Array(SAMPLE)).digest();
  const minutes = Math.ceil(((performance.now() - began) * size) / SAMPLE / 60_000);
  const time = `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  const instead = size > TOO_LONG ? "; 'decant digest --tree' needs no time for empty parts" : '';
  report(`note: SHA-256 hashes all ${humanSize(size)} of the disk, empty parts too: ${time} or more${instead}`);
}
