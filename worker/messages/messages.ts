// What travels between the calling side and workers.

import type { PlainError } from '../errors/errors.js';

/** An open file of Node, and how a thread opens it that has file descriptors of its own (Deno's). */
export interface OpenFile {
  fd: number;
  /** Bytes are a Buffer's: of a path that is no text. */
  path: string | Uint8Array;
  /** Of the file that is open: by the path there may be another one by now. */
  device: bigint;
  inode: bigint;
}

/** A file that every worker opens by itself: a blob, or an open file of Node. */
export type FileSpec = { blob: Blob } | { file: OpenFile; size: number };

/** A source as it travels to a coordinator: a file, or the port to a source or to a stream of the caller's own. */
export type SourceSpec = FileSpec | { port: MessagePort; size: number; expects: boolean } | { stream: MessagePort };

/** An image and how to open it, as it travels to a coordinator. */
export interface ImageSpec {
  source: SourceSpec;
  format?: string | undefined;
  name?: string | undefined;
  companions: CompanionSpec[];
  snapshot?: string | undefined;
  salvage: boolean;
  checkManifest?: boolean | undefined;
}

/** A file that the image may refer to. */
export interface CompanionSpec {
  source: SourceSpec;
  name: string;
  /** The name under which an image refers to it, where the caller states that. */
  standsFor?: string | undefined;
  isImage: boolean;
}

/** What a coordinator asks of a source of the caller's. */
export type SourceRequest =
  /** A range in bytes. */
  | { id: number; offset: number; length: number }
  /** To give up what it has asked for. */
  | { givenUp: number }
  /** Nothing yet: what `reader` will ask for, `[offset, length, offset, length, ...]`; nothing at its end. */
  | { reader: number; expected: Float64Array };

/** The answer: exactly that range, or of a stream as much of it as there is, or why it is not to be had. */
export type SourceReply = { id: number; bytes: Uint8Array<ArrayBuffer> } | { id: number; error: PlainError };

/** Where a coordinator writes to, as it travels there. */
export type TargetSpec =
  /** A file that the user picked. */
  | { picked: FileSystemFileHandle }
  /**
   * The name of a temporary file in the origin's private file system: not every browser lets handles travel. `sized` says
   * whether the output's size is known before.
   */
  | { opfs: string; sized: boolean; resume?: Resume }
  | PortSpec
  /** An open file of Node, or a block device, which gets its holes as zeros; `name` is what the caller calls it. */
  /** `inPlace`: it has its size. `dense`: zeros are written, and no holes are left. */
  | { file: OpenFile; name: string; inPlace: boolean; dense: boolean; sync: boolean };

/** For a file that a later conversion can go on with: the first line of its journal, and what is there already. */
export interface Resume {
  head: string;
  resumePoint: { guest: number; written: number };
}

/** Pieces of the output go to the calling side. */
export interface PortSpec {
  port: MessagePort;
  /** Pieces are wanted in ascending order. */
  ordered: boolean;
  /** Holes are told; otherwise they are wanted as zeros. */
  holes: boolean;
  /** How many pieces may be on their way, or there. */
  pieces: number;
}

/** What a coordinator sends: a part of the output, or a hole of `length` bytes. The answer is a `Taken`. */
export type Piece = { offset: number; bytes: Uint8Array<ArrayBuffer> } | { offset: number; length: number };
/** The piece was written, or the target has failed. */
export type Taken = { failed: boolean };
