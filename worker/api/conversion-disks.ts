// The disks of a conversion: one, or several that become one output. Names one of several in failures and notices.

import type { ImageSetup } from '../client-side/image-session.js';
import type { ImageSessions } from '../client-side/image-sessions.js';
import { DecantError, type Fields, toDecantError } from '../errors/errors.js';
import { shownText } from '../errors/shown.js';
import type { ConvertedDisk } from '../messages/coordinator.js';
import type { AnyInfo, Notice } from '../public/types.js';
import type { Platform } from './platform.js';

export interface ConversionContext {
  platform: Platform;
  setup: ImageSetup;
  sessions: ImageSessions;
  info: AnyInfo;
  /** The images of further disks. */
  more?: ConversionContext[];
}

/** The contexts of all disks, in their order in the output. */
export const disksOf = (conversion: ConversionContext): ConversionContext[] => [conversion, ...(conversion.more ?? [])];

/** The size of all disks in bytes; `undefined` if it is known only at the end. */
export function totalSize(disks: ConversionContext[], determined: (number | undefined)[]): number | undefined {
  const sizes = disks.map(({ info }, at) => info.virtualSize ?? determined[at]);
  return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
}

/** The sum of a field of all disks. */
export const sumOf = (disks: ConvertedDisk[], name: 'virtualSize' | 'diskSize' | 'lostRanges' | 'lostBytes'): number =>
  disks.reduce((sum, disk) => sum + disk[name], 0);

/** Returns `error`; if it is that of one of several disks, as the core states if `at` does not, with the name of the disk. */
export function failureOf(conversion: ConversionContext, error: DecantError, at?: number): DecantError {
  const disks = disksOf(conversion);
  const { kind, code, message, fields, cause } = error;
  const { diskNumber, ...others } = fields;
  const number = at ?? (typeof diskNumber === 'number' ? diskNumber - 1 : undefined);
  if (number === undefined || disks.length === 1) return error;
  const named = withDisk(others, disks[number]!);
  return new DecantError(kind, `${titleOf(disks, number)}: ${message}`, { code, fields: named, cause });
}

/** Resolves to the result of `work` on disk number `at`. If there are several disks, its failure has the name of the disk. */
export async function ofDisk<T>(conversion: ConversionContext, at: number, work: Promise<T>): Promise<T> {
  return work.catch((thrown) => {
    const error = toDecantError(thrown);
    throw error.kind === 'cancelled' ? thrown : failureOf(conversion, error, at);
  });
}

/** Adds the name of the disk to `fields`, if it has one. */
function withDisk(fields: Fields, disk: ConversionContext): Fields {
  const name = nameOf(disk);
  return name === undefined ? fields : { ...fields, disk: name };
}

/** Returns a notice of disk number `at` of several, with the name of the disk. */
export const noticeOf = (disks: ConversionContext[], at: number, { code, fields, message }: Notice): Notice => ({
  code,
  fields: withDisk(fields, disks[at]!),
  message: `${titleOf(disks, at)}: ${message}`,
});

/** Notices that a change of the disks' files could go unnoticed. */
export function unnoticedIn(disks: ConversionContext[]): Notice[] {
  const messages = new Set(disks.flatMap(({ setup }) => setup.sources.unnoticed));
  return [...messages].map((message) => ({ code: 'unverified', message, fields: {} }));
}

/** The name of a disk, without folders. */
const nameOf = ({ info: { name } }: ConversionContext): string | undefined => name?.slice(name.lastIndexOf('/') + 1);

/** The title of disk number `at` of several in messages. */
function titleOf(disks: ConversionContext[], at: number): string {
  const name = nameOf(disks[at]!);
  const which = `disk ${at + 1} of ${disks.length}`;
  return name === undefined ? `${which[0]!.toUpperCase()}${which.slice(1)}` : `'${shownText(name)}', ${which}`;
}
