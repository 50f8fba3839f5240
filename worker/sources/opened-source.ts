// A source as the calling side has it open.

import type { FileSpec } from '../messages/messages.js';
import type { Source } from '../public/types.js';
import type { StreamReader } from './custom-stream.js';

export interface OpenedSource {
  /** A file, or a source or a stream of the caller's own, which stays on this side. */
  spec: FileSpec | { custom: Source; size: number } | { stream: StreamReader };
  /** Equal only for sources that are one and the same file. */
  identity: unknown;
  /** Browsers: the handle by which the file was given, which tells whether two sources are one file, too. */
  entry?: { handle: FileSystemFileHandle; lastModified: number };
  name: string | undefined;
  /** In bytes, when it was opened; undefined for a stream. */
  size: number | undefined;
  /** Browsers: whether it is the file of `handle`, which is `file` now, as far as that can be known. */
  isFile?(handle: FileSystemFileHandle, file: File): Promise<'certain' | 'probable' | undefined>;
  /** What tells this state of it from others, also for another process: undefined where that cannot be known. */
  state?: string | undefined;
  /** Why a change of it could go unnoticed, as a sentence, if it could: `confirm` may find that out. */
  readonly unnoticed?: string | undefined;
  /** Reads a range of a file that lies here, not on a server. */
  peek?(offset: number, length: number): Promise<Uint8Array>;
  /** Fails with `source` where the file is no longer what it was when it was opened. */
  verify(): Promise<void>;
  /** Fails with `source` where whoever has the bytes says that they have changed, or says nothing. */
  confirm?(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
