// The disks of an archive that has several.

import { DecantError, type Member } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { humanSize } from '../errors/sizes.js';
import type { Snapshot } from '../public/types.js';

/** The value of `--disk` for all disks. */
export const ALL_DISKS = 'all';
/** The option for a file that is missing. */
export const WITH = '--with FILE';

/** The disks of an archive or a machine. */
export interface Disks {
  disks: readonly Member[];
  /** The name of the machine, if known. */
  machine?: string;
  /** The snapshots of the machine, if it has some. */
  snapshots?: readonly Snapshot[];
}

/** Returns the disks to choose from, if `thrown` says that one must be chosen. */
export function severalDisks(thrown: unknown): Disks | undefined {
  const isChoice = DecantError.is(thrown) && thrown.kind === 'usage' && thrown.code === 'several-images';
  return isChoice && thrown.fields.disks ? (thrown.fields as unknown as Disks) : undefined;
}

/** Lists `disks`, one on each line: the option that chooses it, its name, size and format. */
export const diskRows = (disks: readonly Member[]): string[] =>
  disks.map(({ name, size, format, missing }, at) => {
    const details = missing
      ? `missing; ${WITH}`
      : [humanSize(size), ...(format === undefined ? [] : [format])].join(', ');
    return `--disk ${at + 1}: ${shownText(name)} (${details})`;
  });
