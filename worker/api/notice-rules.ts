// The codes of `Info.safety`, with what depends on each of them.

import type { Notice, OutputFormat } from '../public/types.js';

interface Rule {
  /** The severity of the finding in a check. Notes are about the files that were used, or could not be checked. */
  severity: 'note' | 'warning';
  /**
   * `disk`: the notice is true of the converted disk too, for example that a guest should check its file systems, so the result
   * repeats it. `input`: it is only about the image's files and how they are read.
   */
  about: 'disk' | 'input';
}

const OF_DISK: Rule = { severity: 'warning', about: 'disk' };
const OF_INPUT: Rule = { severity: 'warning', about: 'input' };
const NOTE: Rule = { severity: 'note', about: 'input' };

/** The rules by code. A test compares the codes with docs/errors.md. */
export const RULES: Record<string, Rule> = {
  'absolute-path': OF_INPUT,
  'backing-file': NOTE,
  'backing-format': OF_INPUT,
  'data-file': NOTE,
  'descriptor-cut': OF_DISK,
  dirty: OF_DISK,
  extent: NOTE,
  'extent-empty': OF_DISK,
  extents: NOTE,
  'guessed-raw': OF_DISK,
  huge: OF_INPUT,
  'hybrid-iso': { severity: 'note', about: 'disk' },
  'large-window': OF_INPUT,
  'luks-header-damaged': OF_INPUT,
  'marked-corrupt': OF_DISK,
  'ovf-capacity': OF_DISK,
  'packed-as-raw': OF_DISK,
  'parent-forced': OF_DISK,
  'parent-path': OF_INPUT,
  'parent-unchecked': OF_DISK,
  'part-alone': OF_DISK,
  'parts-unchecked': OF_DISK,
  protocol: OF_INPUT,
  'raw-disk-beside': NOTE,
  'raw-layer-cut': OF_DISK,
  'sector-size': OF_DISK,
  'size-mismatch': OF_DISK,
  // The result has `unverified` instead.
  'source-not-verified': NOTE,
  'unknown-descriptor-version': OF_DISK,
  'unknown-features': OF_INPUT,
  'unknown-io-filter': OF_DISK,
  'vhd-footers-differ': OF_DISK,
  'vhd-size': OF_DISK,
  'vhdx-log-damaged': OF_DISK,
  'vhdx-log-replayed': OF_DISK,
  'vhdx-regions-differ': OF_DISK,
};

/** The severity of a notice; of those without a rule, which are found in the tables, too. */
export const severityOf = ({ code }: Notice): Rule['severity'] => (RULES[code] ?? OF_DISK).severity;

/** Whether a result repeats the notice of `Info.safety`. */
export const isOfDisk = ({ code }: Notice): boolean => (RULES[code] ?? OF_DISK).about === 'disk';

/** Whether the output solves the problem of the notice: it states the size of the sectors, so that programs find the partitions. */
export const isSolvedBy = ({ code, fields }: Notice, { sectorSize }: Pick<OutputFormat, 'sectorSize'>): boolean =>
  code === 'sector-size' && fields.size === sectorSize;
