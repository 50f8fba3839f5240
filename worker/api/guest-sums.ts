// Guest sums of a disk: for each MiB that has data, 16 bytes that identify its bytes, whatever the format (crate/src/convert/sums.rs).

import type { Converted } from '../messages/coordinator.js';
import type { Progress } from '../public/types.js';
import type { OutputTarget } from '../targets/output-target.js';
import type { ConversionContext } from './conversion-disks.js';
import { convertInto, type Summing } from './conversion-run.js';

/** The part of a disk that has one sum, in bytes. */
export const SUMMED = 1 << 20;

/** Returns a new seed. Sums can be compared only if they have the same one. */
export const newSeed = (): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(8));

/** The sums of a disk: for each MiB that has data, ascending, its number in 8 bytes and its sum in 16, little-endian. */
export type GuestSums = Uint8Array;

/** A disk whose guest sums were computed. */
export interface SummedDisk {
  sums: GuestSums;
  /** The size of the disk in bytes. */
  virtualSize: number;
}

interface SumOptions {
  signal: AbortSignal;
  memory?: number | undefined;
  /** Only these ranges are read, ascending and disjoint, in whole blocks of 4 KiB. The rest of the disk counts as zeros. */
  ranges?: { offset: number; length: number }[] | undefined;
  onProgress?: (progress: Progress) => void;
}

/** Computes the sums of the disk of an image with `seed`, and writes nothing. Fails as a conversion does. */
export async function sumsOf(
  conversion: ConversionContext,
  seed: Uint8Array,
  { ranges, memory, ...options }: SumOptions,
): Promise<SummedDisk> {
  const bounds = ranges && Float64Array.from(ranges.flatMap(({ offset, length }) => [offset, offset + length]));
  const target = new SumTarget({ seed, ranges: bounds });
  await convertInto(target, conversion, { ...options, ...(memory !== undefined && { memory }) });
  return target.disk!;
}

/** The target of a conversion that only computes the sums. */
class SumTarget implements OutputTarget {
  disk: SummedDisk | undefined;

  constructor(readonly summing: Summing) {}

  async prepare(): Promise<undefined> {}

  summed({ sums, disks }: Converted): void {
    this.disk = { sums: sums[0]!, virtualSize: disks[0]!.virtualSize };
  }

  async commit(): Promise<void> {}

  async discard(): Promise<void> {}
}

/** The length of an entry in words of 4 bytes, 2 of them for the number of the MiB. */
const ENTRY = 6;
const NUMBER = 2;

/** Yields the guest offsets of the MiBs in which two disks differ, ascending. The bytes after the end of a disk count as zeros. */
export function* differingParts(one: GuestSums, other: GuestSums): Generator<number, void, void> {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  let [atA, atB] = [0, 0];
  while (atA < a.length || atB < b.length) {
    const [partA, partB] = [partAt(a, atA), partAt(b, atB)];
    const isSame = partA === partB && hasSameSum(a, atA, b, atB);
    if (!isSame) yield Math.min(partA, partB) * SUMMED;
    if (partA <= partB) atA += ENTRY;
    if (partB <= partA) atB += ENTRY;
  }
}

/** The sums as words of the platform's byte order, which in practice is little-endian on all platforms with WebAssembly. */
function wordsOf(sums: GuestSums): Uint32Array {
  // A copy: the sums may not be aligned in their buffer.
  const { buffer } = Uint8Array.from(sums);
  return new Uint32Array(buffer);
}

/** The number of the MiB of the entry at `at`; infinite after the last one. */
const partAt = (words: Uint32Array, at: number): number =>
  at < words.length ? words[at]! + words[at + 1]! * 2 ** 32 : Number.POSITIVE_INFINITY;

const hasSameSum = (a: Uint32Array, atA: number, b: Uint32Array, atB: number): boolean => {
  for (let word = NUMBER; word < ENTRY; word += 1) if (a[atA + word] !== b[atB + word]) return false;
  return true;
};
