// A source that is open on the calling side, and the loan of such sources to a coordinator.

import type { DecantError } from '../errors/errors.js';
import type { ByteRange } from '../http/ranges.js';
import type { FileSpec, ImageSpec } from '../messages/messages.js';
import type { Source } from '../public/types.js';
import type { StreamReader } from './custom-stream.js';

export interface OpenedSource {
  /** A file, or a custom source or stream, which stays on this side. */
  spec: FileSpec | { custom: Source; size: number } | { stream: StreamReader };
  /** Equal only for sources that are the same file. */
  identity: unknown;
  /** Browsers: the handle that was passed, which can also identify the file. */
  entry?: { handle: FileSystemFileHandle; lastModified: number };
  name: string | undefined;
  /** The size in bytes at opening; undefined for a stream. */
  size: number | undefined;
  /** Browsers: whether it is the file of `handle`, whose current state is `file`; undefined for no, or if it is unknown. */
  isFile?(handle: FileSystemFileHandle, file: File): Promise<'certain' | 'probable' | undefined>;
  /** Identifies this state of the source, also in another process; undefined if that is impossible. */
  state?: string | undefined;
  /** Why a change could go unnoticed, as a sentence. `confirm` may set it. */
  readonly unnoticed?: string | undefined;
  /** Reads ranges of a local file. Resolves to the bytes of each, fewer if the file has become shorter. */
  peek?(ranges: ByteRange[]): Promise<Uint8Array[]>;
  /** Fails with `source` if the file has changed since it was opened. */
  verify(): Promise<void>;
  /** Asks the owner of the bytes, such as a server. Fails with `source` if they have changed or the check fails. */
  confirm?(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A loan of files, which a coordinator opens by itself. */
export class Loan {
  /** The image to open. */
  image!: ImageSpec;
  /** The ports in `image`, to be transferred with it. */
  readonly ports: MessagePort[] = [];

  /** Cancels current and later reads: they fail with `cancelled`, without waiting for the source. */
  cancel(): void {}

  /** Ends the loan: cancels all reads and closes the ports. */
  end(): void {}

  /** Adds to an error of a coordinator what only this side knows. */
  explain(error: DecantError): DecantError {
    return error;
  }
}
