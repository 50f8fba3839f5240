// The result of a conversion, of one disk or of several.

import type { Converted, ConvertedDisk } from '../messages/coordinator.js';
import type { ConvertResult, DiskDigest, Notice, Verified } from '../public/types.js';
import type { OutputTarget } from '../targets/output-target.js';
import { type ConversionContext, disksOf, noticeOf, sumOf, unnoticedIn } from './conversion-disks.js';
import { isOfDisk, isSolvedBy } from './notice-rules.js';
import type { ChosenFormat } from './output-format.js';

/** The result of a conversion that `target` has completed. `verified`: what its output was compared with. */
export function resultOf(
  target: OutputTarget,
  conversion: ConversionContext,
  chosen: ChosenFormat,
  { progress, outputSize, disks }: Converted,
  bytesWritten: number,
  time: ConvertResult['time'],
  verified: Verified | undefined,
): ConvertResult {
  const { engineReason, workers } = conversion.setup;
  const contexts = disksOf(conversion);
  const isOne = contexts.length === 1;
  const unnoticed = unnoticedIn(contexts);
  const noticesOf = ({ info }: ConversionContext, at: number): Notice[] => {
    const found = [
      ...info.safety.filter((notice) => isOfDisk(notice) && !isSolvedBy(notice, chosen)),
      ...disks[at]!.notices,
    ];
    return isOne ? found : found.map((notice) => noticeOf(contexts, at, notice));
  };
  const rewrittenOf = ({ rewritten }: ConvertedDisk, at: number) =>
    rewritten.map(({ start, end }) => ({ offset: start, length: end - start, ...(isOne ? {} : { disk: at + 1 }) }));
  const lostOf = ({ lost }: ConvertedDisk, at: number) => lost.map((range) => ({ ...range, disk: at + 1 }));
  return {
    virtualSize: sumOf(disks, 'virtualSize'),
    rewritten: disks.flatMap(rewrittenOf),
    outputSize,
    bytesRead: progress.read,
    bytesWritten,
    holeBytes: target.isAllocated ? 0 : outputSize - bytesWritten,
    notices: [...contexts.flatMap(noticesOf), ...unnoticed, ...(target.notices ?? [])],
    sourceVerified: unnoticed.length === 0,
    ...(verified && { verified }),
    confirmed: target.isConfirmed ?? true,
    lost: isOne ? disks[0]!.lost : disks.flatMap(lostOf),
    lostRanges: sumOf(disks, 'lostRanges'),
    lostBytes: sumOf(disks, 'lostBytes'),
    ...(target.copy && { copy: target.copy }),
    ...(target.copyExpires && { copyExpires: target.copyExpires }),
    ...(target.sha256 !== undefined && { sha256: target.sha256 }),
    ...digestsOf(disks),
    unusedCompanions: unusedBy(contexts),
    engine: isOne ? conversion.setup.engine : 'workers',
    engineReason: isOne ? engineReason : 'several disks',
    workers,
    time,
  };
}

/** The digest of the disk, or of each of several, if it was computed. */
function digestsOf(disks: ConvertedDisk[]): Pick<ConvertResult, 'digest' | 'digests'> {
  const found = disks.flatMap(({ digest, lost, lostRanges, lostBytes }): DiskDigest[] =>
    digest ? [{ sha256: digest.hash, size: digest.size, lost, lostRanges, lostBytes }] : [],
  );
  if (found.length === 0) return {};
  return disks.length === 1 ? { digest: found[0]! } : { digests: found };
}

/** The companions that no disk refers to, except those that are images of the other disks. */
function unusedBy(contexts: ConversionContext[]): string[] {
  const unused = contexts.map(({ info }) => info.unusedCompanions);
  return unused[0]!.filter((name) => unused.every((names) => names.includes(name)));
}
