// `decant check`, with the output of `qemu-img check` in QEMU 7.2.

import { DecantError } from '../errors/errors.js';
import type { FileCheck, FileFinding, Finding, Info, Progress } from '../public/types.js';
import type { CommandOf } from './arguments.js';
import { EXIT_CORRUPT, EXIT_LEAKS, EXIT_UNCHECKED } from './commands.js';
import { shownInput } from './operands.js';
import { print, report } from './printing.js';
import { progressLine } from './progress.js';
import { type RunContext, withDisk } from './run-context.js';

/** Checks the image that the command names, and prints what it finds. Returns the exit code. */
export const checkImage = (command: CommandOf<'check'>, context: RunContext): Promise<number> =>
  withDisk(command, context, async (image) => {
    if (image.streamed) throw isStreamed();
    const line = progressLine(command);
    const onProgress = (progress: Progress) => line.share(progress);
    const checking = image.check({ deep: true, signal: context.signal, onProgress });
    const { file, findings } = await checking.finally(() => line.end());
    if (!file) throw lacksExtent(findings);
    const checked = { filename: shownInput(command.image), format: image.info.format, ...file };
    if (!command.quiet) {
      for (const line of remarks(checked, image.info)) report(line);
      for (const line of command.json ? checkJson(checked) : checkText(checked)) print(line);
    }
    return exitCodeOf(checked);
  });

const isStreamed = () =>
  new DecantError(
    'unsupported',
    'A disk that is read in order is raw and has no tables to check; compare its SHA-256 instead',
    { code: 'not-in-order' },
  );

const lacksExtent = (findings: readonly Finding[]) => {
  const { code, fields, message } = findings.find(({ code }) => code === 'missing-file')!;
  return new DecantError('missing-file', message, { code, fields });
};

/** A check, with the image that it is of. */
type Checked = FileCheck & { filename: string; format: string };

/** How a line of each kind begins. */
const STARTS: Record<FileFinding['kind'], string> = {
  corruption: 'ERROR',
  leak: 'Leaked',
  unchecked: 'Not checked',
  state: 'note',
};

const findingText = ({ kind, count, message }: FileFinding): string =>
  `${STARTS[kind]}${count > 1 ? ` (counts as ${count})` : ''}: ${message}`;

/** Printed besides the report: the findings, and the parts that were not checked. */
function remarks(checked: Checked, { layers, needs }: Pick<Info, 'layers' | 'needs'>): string[] {
  const { corruptions, leaks, unchecked, findings, hasTables, format } = checked;
  const lines = findings.map(findingText);
  const listed = findings.filter(({ kind }) => kind !== 'state').reduce((sum, { count }) => sum + count, 0);
  const rest = corruptions + leaks + unchecked - listed;
  if (rest > 0) lines.push(`${rest} more findings, not listed`);
  if (layers.length > 1 || needs.some(({ kind }) => kind === 'missing-file'))
    lines.push('note: only this image was checked, not the files below it; check each of them, too');
  if (!hasTables) lines.push(`note: an image in the format ${format} has no tables to check`);
  return lines;
}

function exitCodeOf({ corruptions, leaks, unchecked }: FileCheck): number {
  if (unchecked > 0) return EXIT_UNCHECKED;
  if (corruptions > 0) return EXIT_CORRUPT;
  return leaks > 0 ? EXIT_LEAKS : 0;
}

/** Makes a format that rounds as C does. Only where it is needed: it takes 20 ms, which every command would wait for. */
const percents = () =>
  new Intl.NumberFormat('en-US', {
    ...{ minimumFractionDigits: 2, maximumFractionDigits: 2, useGrouping: false },
    roundingMode: 'halfEven',
  });

/** The sentences of `qemu-img check`. */
export function checkText(checked: FileCheck): string[] {
  const { corruptions, leaks, unchecked, totalClusters, allocatedClusters, imageEnd } = checked;
  const lines: string[] = [];
  if (corruptions > 0) {
    lines.push('', `${corruptions} errors were found on the image.`);
    lines.push('Data may be corrupted, or further writes to the image may corrupt it.');
  }
  if (leaks > 0) {
    lines.push('', `${leaks} leaked clusters were found on the image.`);
    lines.push('This means waste of disk space, but no harm to data.');
  }
  if (unchecked > 0) lines.push('', `${unchecked} internal errors have occurred during the check.`);
  if (lines.length === 0) lines.push('No errors were found on the image.');
  if (totalClusters > 0 && allocatedClusters > 0) {
    const percent = percents();
    const share = (part: number, whole: number) => `${percent.format((part * 100) / whole)}%`;
    const { fragmentedClusters, compressedClusters } = checked;
    const parts = [
      `${allocatedClusters}/${totalClusters} = ${share(allocatedClusters, totalClusters)} allocated`,
      `${share(fragmentedClusters, allocatedClusters)} fragmented`,
      `${share(compressedClusters, allocatedClusters)} compressed clusters`,
    ];
    lines.push(parts.join(', '));
  }
  if (imageEnd > 0) lines.push(`Image end offset: ${imageEnd}`);
  return lines;
}

/** The object of `qemu-img check --output=json`, which leaves out numbers that are 0, with the findings. */
export function checkJson(checked: Checked): string[] {
  const { filename, format, unchecked, findings } = checked;
  const counts = {
    'image-end-offset': checked.imageEnd,
    'total-clusters': checked.totalClusters,
    'allocated-clusters': checked.allocatedClusters,
    'fragmented-clusters': checked.fragmentedClusters,
    'compressed-clusters': checked.compressedClusters,
    corruptions: checked.corruptions,
    leaks: checked.leaks,
  };
  const known = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  return JSON.stringify({ ...known, 'check-errors': unchecked, filename, format, findings }, undefined, 4).split('\n');
}
