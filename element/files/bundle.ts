// An image to convert and the files that belong to it, and their names.

import { RAW_EXTENSIONS } from '../formats.js';
import type { InputFile } from './input-file.js';

/** An image with the files that it refers to, directly or through other files. */
export interface Bundle {
  top: InputFile;
  companions: InputFile[];
  /** How many of its companions are further parts of its file. */
  parts?: number;
  /** The names by which other images may refer to it: its file name and its IDs. */
  called: string[];
  /** The disk to open, if the person has chosen it among several in an archive. `number` counts from 1. */
  disk?: { number: number; name: string };
  /** The ID of the snapshot to open, if the person has chosen one with the disk. */
  snapshot?: string;
  /** The bundles of several disks in the file of `top`, in its order, if they become one file. */
  disks?: Bundle[];
}

/** The name of an image, or of a machine with several disks, on the screen. */
export const labelOf = ({ top, disk }: Bundle): string => (disk ? `${top.file.name}: ${disk.name}` : top.file.name);

/** Compares the bundles of two disks in one file, for their order. */
export const byNumber = (one: Bundle, other: Bundle): number => (one.disk?.number ?? 0) - (other.disk?.number ?? 0);

export interface Sorted {
  /** Sorted by name, after those that refer to missing files. */
  bundles: Bundle[];
  /** Files that are not images and that no image refers to. */
  skipped: InputFile[];
  /** Images that may be older states or parts of a machine's missing disk: they stay with the machine. */
  held: InputFile[];
}

/** The number of the first part of a split file. */
const FIRST_PART = /(\.(\d{2,9}|part\d+)|[-._](a{2,9}|0{2,9})|aa|00)$/i;

/** The name of the whole file if `name` is that of its first part. */
export const wholeName = (name: string): string => name.replace(FIRST_PART, '');

/** Returns a pattern of names that end in one of `extensions`, in any case. */
export const endingIn = (extensions: string[]): RegExp =>
  new RegExp(`(?:${extensions.map((extension) => extension.replaceAll('.', String.raw`\.`)).join('|')})$`, 'i');

/** The ends of names of raw disks, whose format cannot be recognised by content. */
const MAY_BE_RAW = endingIn([...RAW_EXTENSIONS, '.iso']);

/** Whether an unrecognised file may be a raw disk. */
export const mayBeRaw = ({ file, link }: InputFile): boolean =>
  [file.name, wholeName(file.name)].some((name) => MAY_BE_RAW.test(name)) && (file.size > 0 || link !== undefined);

/** Normalises `name` for comparison: Unicode form and case are ignored. */
export const folded = (name: string): string => name.normalize('NFC').toLowerCase();

export const isSameName = (one: string, other: string): boolean => folded(one) === folded(other);

/** A single file: it always counts as an image, and opening it reports its faults. */
export const alone = (top: InputFile): Sorted => ({
  bundles: [{ top, companions: [], called: [folded(top.file.name)] }],
  skipped: [],
  held: [],
});
