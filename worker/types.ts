// The public types. All sizes and offsets are in bytes.

/** What an image can be read from. A path or file URL works in Node only. */
export type Source = Blob | Uint8Array | string | URL;

/** Where a conversion goes. */
export type Output =
  /** A file that the user picked, or a handle of the caller's. */
  | FileSystemFileHandle
  /** A file of this name in the origin's private file system; it appears when it is complete. */
  | { opfs: string }
  /** A download of this name. */
  | { download: string }
  /** A path or file URL in Node. The file appears when it is complete. */
  | string
  | URL;

export interface OpenOptions {
  /** The format, where it must not be recognised by content: `raw` has to be said. */
  format?: string;
  /** The name of the file, for messages; by default that of the `File` or path. */
  name?: string;
  signal?: AbortSignal;
}

export interface Info {
  /** The format's name, as `qemu-img -f` has it. */
  format: string;
  name?: string;
  virtualSize: number;
  fileSize: number;
  clusterSize?: number;
  /** The version of the format. */
  version?: number;
  /** How compressed clusters are compressed, if the image has any. */
  compression?: string;
  refcountBits?: number;
  /** Feature bits that are set, by name. */
  features: string[];
  snapshots: Snapshot[];
  /** What a conversion needs besides the file; empty when nothing is missing. */
  needs: string[];
}

export interface Snapshot {
  id: string;
  name: string;
  dateSeconds: number;
  dateNanoseconds: number;
  vmClockNanoseconds: number;
  vmStateSize: number;
  icount?: number;
  virtualSize?: number;
}

/** A stretch of the disk that the guest sees. */
export interface Extent {
  start: number;
  length: number;
  kind: 'data' | 'zero' | 'unallocated';
  compressed: boolean;
  /** Where its bytes lie in the image's file, where they do as they are. */
  offset?: number;
}

export type Engine = 'threads' | 'workers';

export type Phase = 'preparing' | 'converting' | 'finalizing';

export interface Progress {
  phase: Phase;
  /** Of the disk that the guest sees. */
  guestDone: number;
  guestTotal: number;
  /** Of the image's file, for data. */
  bytesRead: number;
  bytesWritten: number;
  /** Of the disk that the guest sees, per second, lately. */
  bytesPerSecond: number;
  /** Unknown at the start and while the browser completes the file. */
  secondsLeft?: number;
}

export interface ConvertOptions {
  /** `auto` takes what suits the page and the output best. */
  engine?: Engine | 'auto';
  /** How many workers or threads decode: 1 to 64. By default one for each core, 8 at most. */
  workers?: number;
  /** How much memory buffers may take together: 32 MiB to 2 GiB. By default 64 MiB for each worker. */
  memory?: number;
  signal?: AbortSignal;
  /** Is called at most 10 times a second. */
  onProgress?: (progress: Progress) => void;
  /** Node: do not resolve before the file is on the disk (fsync). */
  sync?: boolean;
}

export interface Result {
  virtualSize: number;
  bytesRead: number;
  bytesWritten: number;
  /** What was left a hole. */
  holeBytes: number;
  engine: Engine;
  /** Why this engine ran, in a few words. */
  engineReason: string;
  workers: number;
  /** Milliseconds spent in each phase. */
  time: Record<Phase, number>;
}
