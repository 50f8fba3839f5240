// The calls to a coordinator, and its replies.

import type { PlainError } from '../errors/errors.js';
import type {
  DiskMember,
  Extent,
  Info,
  LostRange,
  MachineHardware,
  Notice,
  OutputFormat,
  Snapshot,
} from '../public/types.js';
import type { Capacity, Resume, StatedDisk, TargetSpec } from './messages.js';

/** `Info` of the API without the name, which only the calling side knows. The calling side completes it. */
export type CrateInfo = Writable<Omit<Info, 'name'>>;

type Writable<T> = { -readonly [P in keyof T]: T[P] };

/** `Extent` of the API, with the number of its file: 0 is the image, the companions follow. */
export type CrateExtent = Omit<Extent, 'file'> & { file?: number };

export interface OpenResult {
  image: number;
  info: CrateInfo;
  formats: OutputFormat[];
  members: DiskMember[];
  /** Whether the disk can only be read once, in order, because of its container. */
  comesInOrder: boolean;
  /** The error for a caller without room, if it is a file to be unpacked: a conversion to a raw disk stores its bytes. */
  roomNeeded: PlainError | undefined;
  /** The numbers of the companions that are parts of a file to be unpacked. */
  parts: number[];
  /** Whether the image is in a compressed file that is read in place. */
  isInPlace: boolean;
  /** The capacity that a description of a machine states for the disk in a file to be unpacked. */
  packedCapacity: Capacity | undefined;
}

/**
 * The answers to `open` without an image: for the configuration of a virtual machine, the disk to open instead; if a disk must be
 * chosen, the error for a caller that cannot choose.
 */
export type OtherAnswer = { disk: DiskOfMachine } | { choice: PlainError };

/** The disk to open of a virtual machine: the crate's `DiskOfMachine`. */
export interface DiskOfMachine {
  /** The number of its file among the companions. */
  file: number;
  /** The number of the disk among `members`. */
  number: number;
  /** The disks of the machine. */
  members: DiskMember[];
  machine?: string;
  hardware?: MachineHardware;
  snapshots: Snapshot[];
  /** Whether the disk is in the state of the stated snapshot. */
  isInSnapshot: boolean;
  stated: StatedDisk;
}

/** An operation on one image. */
interface ImageRequest {
  operation: number;
  image: number;
}

export interface UnlockRequest extends ImageRequest {
  /** Wiped by the coordinator. */
  password: Uint8Array;
  assume: boolean;
}

/** The result of a conversion. */
export interface Converted {
  progress: CrateProgress;
  outputSize: number;
  disks: ConvertedDisk[];
  /** The guest sums of each disk: the crate's `Sums::to_bytes`. Empty unless there is a `seed`. */
  sums: Uint8Array[];
}

/** A range of the disk. `end` is exclusive. */
export interface GuestRange {
  start: number;
  end: number;
}

/** The result for one disk of a conversion. */
export interface ConvertedDisk {
  virtualSize: number;
  /** Its size in the output, which the format may have rounded up. */
  diskSize: number;
  rewritten: GuestRange[];
  notices: Notice[];
  lost: LostRange[];
  lostRanges: number;
  lostBytes: number;
  /** The digest in hexadecimal digits, and the size of the image's disk. */
  digest?: { hash: string; size: number };
}

/** The progress of a conversion: the crate's `Progress`. */
export interface CrateProgress {
  guestDone: number;
  /** The size of the disk; missing if it is known only at the end. */
  guestTotal?: number;
  /** The part of the disk that was finished last; empty if there is none. */
  latest: GuestRange;
  dataDone: number;
  read: number;
  written: number;
  /** Everything before this point is written. */
  settled: Resume['resumePoint'];
  /** Whether this is the first of two passes. */
  measuring: boolean;
  finalizing: boolean;
}

/** The result of examining the tables of an image: the crate's `Examination`. */
export interface Examined {
  notices: Notice[];
  /** Why the image cannot be converted completely. */
  damage?: Notice;
  /** Salvage: the unreadable bytes of the disk. */
  lost: number;
  /** The bytes of the disk whose tables were read. */
  checked: number;
}

export interface ExamineRequest extends ImageRequest {
  deep: boolean;
}

export interface MeasureRequest extends ImageRequest {
  format: string;
  formatOptions: Record<string, string>;
  /** The size that the disk gets in bytes, if not that of the image. */
  size: number | undefined;
}

export interface CompareRequest {
  operation: number;
  /** The two disks. */
  disks: DiskRequest[];
  workers: number;
  /** For the buffers of both disks, in bytes. */
  memory: number;
  /** See `CompareOptions`. */
  strict: boolean;
  firstOnly: boolean;
  /** The files that both images have, by their numbers in the one and in the other. */
  shared: [number, number][];
  /** Whether `differing:OPERATION` reports all differing ranges, as offsets and lengths in a `Float64Array`. */
  reportsRanges: boolean;
}

/** The result of a comparison: the crate's `Compared`. */
export interface CrateCompared {
  offset?: number;
  bytes: number;
  ranges: number;
  allocation?: number;
  lost: Pick<ConvertedDisk, 'lost' | 'lostRanges' | 'lostBytes'>[];
  notices: Notice[][];
}

/** The progress of a comparison: the bytes of the larger disk that are done, and the first difference, once it is known. */
export interface ComparisonDone {
  done: number;
  offset: number | undefined;
}

export interface ReadRequest extends ImageRequest {
  offset: number;
  length: number;
}

/** The output of a conversion, and how it is made. */
export interface ConvertSettings {
  /** The name of the output format. */
  format: string;
  /** The options of the output format. */
  formatOptions: Record<string, string>;
  /** See `ConvertOptions`. */
  size: number | undefined;
  fixGpt: boolean | undefined;
  /** Whether a compressed output may read the image twice. */
  twoPass: boolean;
  /** The upper bound on the memory of all buffers, in bytes. */
  memory: number;
  digest: DigestKind | undefined;
  /** The seed of guest sums, if they are wanted. */
  seed: Uint8Array | undefined;
}

/** The digest of each disk that a conversion computes: of its bytes, or that of fs-verity, which needs no output. */
export type DigestKind = 'sha256' | 'tree';

/** The settings of a conversion, and what it is written to. */
export interface TargetedSettings extends ConvertSettings {
  /** Without one, only guest sums are computed. */
  target: TargetSpec | undefined;
  /** The point from which to resume. */
  resumePoint: Resume['resumePoint'] | undefined;
}

export interface ConvertRequest extends TargetedSettings {
  operation: number;
  /** The disks, in their order in the output. */
  disks: DiskRequest[];
  /** How many workers or threads decode. */
  workers: number;
}

/** One disk of a conversion. */
export interface DiskRequest {
  image: number;
  /** The size of a streamed disk in bytes, if it was determined before. */
  diskSize: number | undefined;
  /** `[start, end, start, end, ...]`: the ranges that are read, if not all. The rest of the disk counts as zeros. */
  ranges: Float64Array | undefined;
  /** The ports of pool workers; of `threads`, one. */
  pool: MessagePort[];
}

/** A pool worker that a conversion needs from now on: the number of the disk that it works for, and its own. */
export interface NeededWorker {
  disk: number;
  at: number;
}
