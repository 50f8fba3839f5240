// Messages between the calling side and workers, and the names of the files that both open.

import type { PlainError } from '../errors/errors.js';

/** An open file of Node, and how threads with their own file descriptors (Deno) open it again. */
export interface OpenFile {
  fd: number;
  /** Bytes if the path is not text. */
  path: string | Uint8Array;
  /** The device of the open file: the path may lead to another file by now. */
  device: bigint;
  inode: bigint;
}

/** A file that every worker opens by itself: a blob, or an open file of Node. */
export type FileSpec = { blob: Blob } | { file: OpenFile; size: number };

/** A source as it is sent to a coordinator: a file, or the port of a custom source or stream. */
export type SourceSpec = FileSpec | { port: MessagePort; size: number; expects: boolean } | { stream: MessagePort };

/** An image and how to open it, as it is sent to a coordinator. */
export interface ImageSpec {
  source: SourceSpec;
  format?: string | undefined;
  name?: string | undefined;
  /** The name of its file, if it may be a part of a split file. */
  file?: string | undefined;
  disk?: string | number | undefined;
  /** Whether the file was itself chosen from an archive, so that no disk can be chosen in it. */
  isChosen: boolean;
  companions: CompanionSpec[];
  snapshot?: string | undefined;
  salvage: boolean;
  forceParent: boolean;
  checkManifest?: boolean | undefined;
  /** Whether there is room to unpack a file that must be read at any position. If not, it is read in place, if possible. */
  spool: boolean;
  /** Whether the stated format is that of the content of the file's containers. */
  unpack: boolean;
  /** The number of containers around the disk, if it is known. */
  containers?: number | undefined;
  /** The facts about the image in the configuration of its virtual machine. */
  stated?: StatedDisk | undefined;
}

/** The size of a disk in bytes, and the unit in which it is stated: the disk may have a part of one more or less. */
export interface Capacity {
  size: number;
  unit: number;
}

/** The facts about a disk in the configuration of its virtual machine: the crate's `StatedDisk`. */
export interface StatedDisk {
  parents: { name: string; isRaw: boolean }[];
  isRaw: boolean;
  capacity?: Capacity;
}

/** A file that the image may refer to. */
export interface CompanionSpec {
  source: SourceSpec;
  name: string;
  /** The name by which an image refers to it, if the caller states one. */
  standsFor?: string | undefined;
  isImage: boolean;
}

/** A message of a coordinator to a custom source. */
export type SourceRequest =
  /** Requests a range in bytes. */
  | { id: number; offset: number; length: number }
  /** Cancels the request of this number. */
  | { givenUp: number }
  /** Announces reads of `reader`: `[offset, length, offset, length, ...]`. Empty when the reader has ended. */
  | { reader: number; expected: Float64Array };

/** The reply: exactly the requested range (of a stream, at most as many bytes as are left), or an error. */
export type SourceReply = { id: number; bytes: Uint8Array<ArrayBuffer> } | { id: number; error: PlainError };

/** A target as it is sent to a coordinator. */
export type TargetSpec =
  /** A file that the user picked. */
  | { picked: FileSystemFileHandle }
  /**
   * The name of a temporary file in the origin's private file system: not every browser can send handles. `sized`: whether the
   * size of the output is known in advance.
   */
  | { opfs: string; sized: boolean; resume?: Resume }
  | PortSpec
  /** No target: the output is not kept. */
  | { nowhere: true }
  /**
   * An open file or block device of Node. `name` is the caller's path. `inPlace`: the size must not be changed. `dense`: holes
   * are written as zeros.
   */
  | { file: OpenFile; name: string; inPlace: boolean; dense: boolean; sync: boolean };

/**
 * For a target that can be resumed: the first line of its journal, the point from which to write, and how many converted bytes
 * of the disk may still be in no resume point.
 */
export interface Resume {
  head: string;
  resumePoint: { guest: number; written: number };
  mostUnsaved: number;
}

/** A target on the calling side, which receives the output in pieces. */
export interface PortSpec {
  port: MessagePort;
  /** Whether pieces must be sent in ascending order. */
  ascending: boolean;
  /** How many bytes at the start of the output may be sent last. */
  lateStart: number;
  /** Whether holes are reported; otherwise they are sent as zeros. */
  holes: boolean;
  /** The maximum number of pieces in flight: sent and not yet taken. */
  pieces: number;
  /** The wasm for the SHA-256 of the output, if that is wanted. */
  crypt?: Uint8Array | undefined;
  /** Makes the bodies of an upload's requests in the worker. */
  bodies?: { port: MessagePort; digests: boolean };
}

/** The key of a `TargetPlan` for targets of the package: where bodies of requests are made outside of the thread of the target. */
export const MAKES_BODIES = Symbol('makes bodies');

/** A plan that may have a worker for bodies. Returns its port; `digests`: whether bytes are digested. */
export interface MakesBodies {
  [MAKES_BODIES]?: (digests: boolean) => MessagePort;
}

/** A request for a part of a body, or for what was made: see `BodyMaker`. All but `begin` and `nothing`, the last one, are answered, in order. */
export type BodyRequest =
  | { begin: number; zeros: number }
  | { bytes: Uint8Array<ArrayBuffer> }
  | { zeros: number }
  | { take: 'body' | 'digest' | 'nothing' };
export type BodyReply = { made: unknown } | { failed: string };

/** The maximum length of a `Piece` with bytes: larger ones are not faster, and the receiver may have to hold several. */
export const PIECE = 1 << 20;

/** Bytes of the output, or a hole of `length` bytes. The reply is a `Taken`. */
export type Piece = { offset: number; bytes: Uint8Array<ArrayBuffer> } | { offset: number; length: number };
/** After the last piece: the SHA-256 of the output. The reply is a `Taken`. */
export interface Digested {
  sha256: string;
}
/** The reply to a `Piece`: it was written, or the target has failed. */
export type Taken = { failed: boolean };

/**
 * The events by which a coordinator borrows pool workers that decode parts of a compressed file, and gives them back. Their detail is the
 * number of the loan, or a `PartsWorker`.
 */
export const PARTS_BEGIN = 'parts';
export const PARTS_END = 'parts end';
export const PARTS_WORKER = 'parts worker';

/** A pool worker of a loan that is needed from now on. */
export interface PartsWorker {
  number: number;
  at: number;
}

/** The event with the finished share while a coordinator decodes parts to know their sizes. */
export const MEASURED = 'measured';

/** The event by which a worker asks the calling side for a codec; its detail is the name. */
export const CODEC_NEEDED = 'codec';

/** The version of files and locks: versions of the package in one origin leave each other's files alone. */
export const PROTOCOL = 'decant-1';

/** The folder of all temporary files. */
export const FOLDER = `.${PROTOCOL}`;

/** The name of the journal of a temporary file. */
export const journalName = (file: string): string => `${file}.journal`;

/** Matches the suffix of a journal's name, which its file does not have. */
export const JOURNAL = /\.journal$/;
