// Error messages of the command: the package's sentence, an option that helps, and the disks to choose from.

import type { DiskMember, Fields, PlainError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import { humanSize } from '../errors/sizes.js';
import type { Snapshot } from '../public/types.js';
import { ALL_DISKS } from './command-options.js';

/** The option for a file that is missing. */
export const WITH = '--with FILE';

/** The disks of an archive or a machine. */
export interface Disks {
  disks: readonly DiskMember[];
  /** The name of their container, unless they are files of their own. */
  container?: string | undefined;
  /** The name of the machine, if known. */
  machine?: string;
  /** The configurations of the machines, if the disks belong to several. */
  machines?: readonly { name: string }[];
  /** The snapshots of the machine, if it has some. */
  snapshots?: readonly Snapshot[];
}

/** Lists `disks`, one on each line: the option that chooses it, its name, size and format. */
export const diskRows = ({ disks, container }: Disks): string[] =>
  disks.map(({ name, size, format, virtualSize, missing }, at) => {
    const file = [humanSize(size), ...(format === undefined ? [] : [format])];
    const disk = virtualSize === undefined ? [] : [`a disk of ${humanSize(virtualSize)}`];
    // A file cannot be added to an archive.
    const lack = container === undefined ? `missing; ${WITH}` : 'missing';
    const details = missing ? [...disk, lack].join(', ') : [...file, ...disk].join(', ');
    return `--disk ${at + 1}: ${shownText(name)} (${details})`;
  });

export const PASSWORD_FILE = '--password-file FILE';
const DISK = '--disk N';

/** The command opens an image again for each of its disks. */
const STREAMED_ONCE =
  'Standard input is a stream that can be read only once; for several disks, redirect it from a file (< FILE)';

/** By code, the option that helps. */
const OPTIONS: Record<string, string> = {
  'ambiguous-file': '--with NAME=FILE',
  'missing-file': WITH,
  'no-image': DISK,
  'password-needed': PASSWORD_FILE,
  'password-unconfirmed': '--assume-password',
  'several-images': DISK,
};

/** Codes of a disk that needs another password than the other disks of its machine. */
const PASSWORD_CODES = ['password-needed', 'password-wrong'];

function helpFor({ kind, code, fields }: PlainError): string | undefined {
  if (fields.resumable) return '--resume';
  if (PASSWORD_CODES.includes(code) && fields.disk !== undefined)
    return `--password-file '${shownText(String(fields.disk))}'=FILE`;
  if (code === 'state-format') return `-f ${fields.format}`;
  if (code === 'ambiguous-format') return ambiguityHelp(fields);
  if (code === 'missing-file' && fields.container !== undefined) return isAnyThere(fields) ? DISK : undefined;
  // `unsupported`: for an archive in another archive, no disk can be chosen.
  return kind === 'unsupported' ? undefined : OPTIONS[code];
}

/** Whether an archive that lacks a disk has another one. */
const isAnyThere = ({ disks = [] }: Fields): boolean => disks.some(({ missing }) => !missing);

/** The formats of the file, unless it is a companion, whose format no option states. */
function ambiguityHelp({ file, format, otherFormat }: Fields): string | undefined {
  if (file !== undefined) return undefined;
  const formats = [format, otherFormat].filter((name) => name !== undefined);
  return formats.map((name) => `-f ${name}`).join(' or ');
}

/** The lines after the message: the disks to choose from, with the options that do so. */
export function failureRows({ kind, code, fields }: PlainError): string[] {
  const { disks = [], container } = fields;
  const isUnknown = code === 'no-image';
  if (kind !== 'usage' || (disks.length < 2 && !isUnknown)) return [];
  const isWhole = !isUnknown && !disks.some(({ missing }) => missing);
  return [
    ...diskRows({ disks, container }),
    ...(isWhole ? [`--disk ${ALL_DISKS}: all, for convert with a folder or an OVA as the output`] : []),
  ];
}

export function failureText(error: PlainError): string {
  const { kind, code, fields, message } = error;
  const interrupted = ['interrupted', fields.left].filter(Boolean).join('; ');
  const sentence = code === 'stream-used' ? STREAMED_ONCE : message;
  const text = kind === 'cancelled' ? interrupted : sentence;
  const option = helpFor(error);
  return option ? `${text} (${option})` : text;
}
