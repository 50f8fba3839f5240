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

/**
 * A file that an image may refer to, as a backing file or a data file. It is found by its own name,
 * or by `name` where that is given: the name that the image has for it.
 */
export type Companion = Source | { name: string; source: Source };

export interface OpenOptions {
  /** The format, where it must not be recognised by content: `raw` has to be said. */
  format?: string;
  /** The name of the file, for messages; by default that of the `File` or path. */
  name?: string;
  /** The files that the image may refer to. None is ever opened by a name that an image holds. */
  companions?: Companion[];
  /** ID or name of the internal snapshot to read instead of the active disk; an ID wins. */
  snapshot?: string;
  /** Of the encrypted images among them, which share it. Checked when it is first needed. */
  password?: string | Uint8Array;
  /** Goes on where the old AES method cannot tell whether the password is right. */
  assumePassword?: boolean;
  /** Reads what is left of a damaged image: the rest becomes zeros, and is listed. */
  salvage?: boolean;
  signal?: AbortSignal;
}

export interface UnlockOptions {
  signal?: AbortSignal;
  /** Is told how much of the work is done at least, 0 to 1. */
  onProgress?: (share: number) => void;
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
  /** Whether clusters are divided into subclusters. */
  extendedL2?: boolean;
  /** Feature bits that are set, by name. */
  features: string[];
  snapshots: Snapshot[];
  /** The backing file that the image names, and the format that it states for it. */
  backingFile?: { name: string; format?: string };
  /** The data file that the image names; a raw one is a disk by itself. */
  dataFile?: { name: string; raw: boolean };
  encryption?: { format: 'luks' | 'aes'; luks?: Luks };
  /** The image and its backing files, as far as they were handed over. */
  layers: Layer[];
  /** What a conversion needs besides what was handed over; empty when nothing is missing. */
  needs: Need[];
  /** Companions that nothing refers to, by name. */
  unusedCompanions: string[];
  /** What deserves a look before an image of unknown origin is converted. */
  safety: Notice[];
}

/** One image of a chain. */
export interface Layer {
  name: string;
  format: string;
  /** Whether its format was guessed, since nothing states it and it is not recognised. */
  guessed: boolean;
  virtualSize: number;
  encryption?: 'luks' | 'aes';
}

export type Need =
  | { kind: 'missing-file'; role: 'backing file' | 'data file'; name: string; of: string }
  | { kind: 'password'; of: string };

/** Something that deserves a look: a code for programs, a sentence for people. */
export interface Notice {
  code: string;
  message: string;
}

/** What a LUKS header says. Places are in bytes behind its start. */
export interface Luks {
  cipher: string;
  mode: string;
  iv: string;
  ivHash?: string;
  hash: string;
  uuid: string;
  payloadOffset: number;
  masterKeyIterations: number;
  slots: { active: boolean; iterations: number; keyOffset: number; stripes: number }[];
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
  /** `lost` occurs only when a damaged image is salvaged. */
  kind: 'data' | 'zero' | 'unallocated' | 'lost';
  /** The layer that it comes from: 0 is the image, 1 its backing file, and so on. */
  depth: number;
  compressed: boolean;
  encrypted: boolean;
  /** The name of the file where its bytes lie as they are, and where in it. */
  file?: string;
  offset?: number;
  /** Why it is lost. */
  reason?: string;
}

export interface MapOptions {
  signal?: AbortSignal;
}

/** A range of the disk that could not be read. */
export interface LostRange {
  start: number;
  length: number;
  reason: string;
}

export type Engine = 'threads' | 'workers';

export type Phase = 'unlocking' | 'preparing' | 'converting' | 'finalizing';

export interface Progress {
  phase: Phase;
  /** How much of the work of unlocking is done at least, 0 to 1. */
  unlocked: number;
  /** Of the disk that the guest sees. */
  guestDone: number;
  guestTotal: number;
  /** Of `guestDone`, what is stored in the image: what `map` lists as data, and what takes the time. */
  dataDone: number;
  /** Of the image's file, for data. */
  bytesRead: number;
  bytesWritten: number;
  /** Of the disk that the guest sees, per second, lately. */
  bytesPerSecond: number;
  /** Unknown at the start and while the browser completes the file. */
  secondsLeft?: number;
}

export interface PrepareOptions {
  /** `auto` takes what suits the page and the output best. */
  engine?: Engine | 'auto';
  /** How many workers or threads decode: 1 to 64. By default one for each core, 8 at most. */
  workers?: number;
}

export interface ConvertOptions extends PrepareOptions {
  /** How much memory buffers may take together: 32 MiB to 2 GiB. By default 48 MiB for each worker, in Node 16. */
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
  /** Salvage: what of the disk could not be read, and is zeros now. Where it is not empty, the result is damaged. */
  lost: LostRange[];
  /** Companions that nothing refers to, by name. */
  unusedCompanions: string[];
  engine: Engine;
  /** Why this engine ran, in a few words. */
  engineReason: string;
  workers: number;
  /** Milliseconds spent in each phase. */
  time: Record<Phase, number>;
}
