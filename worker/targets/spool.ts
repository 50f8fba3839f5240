// A temporary file: of an output that is sent afterwards, or of the content of a packed image.

import type { DecantError } from '../errors/errors.js';
import type { TargetSpec } from '../messages/messages.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { Sizes } from './output-target.js';
import type { ReadSpool } from './spool-sending.js';

export interface Spool {
  /** Creates the file. Fails with `spool-full` if content of known size certainly has no room. */
  prepare(sizes: Sizes, signal: AbortSignal): Promise<TargetSpec>;
  /** Resolves to a reader of the finished file. Fails unless the file has `size` bytes. */
  whole(size: number): Promise<ReadSpool>;
  /** The finished file as a source; `close` removes it, now or later. Fails unless the file has `size` bytes. */
  source(size: number): Promise<OpenedSource>;
  /** The error `spool-full` in place of `reason`. */
  full(reason: DecantError): DecantError;
  /** Removes the file, if it exists. Fails with a `DecantError` that names what stays, unless it is removed later. */
  remove(): Promise<void>;
}

/** The codes of errors for storage that takes no more bytes. */
const FULL = ['disk-full', 'file-too-large', 'storage-full'];

/** Returns the error `spool-full` if `reason` is that the storage of `spool` is full, otherwise `reason`. */
export const explainFull = (spool: Spool, reason: DecantError): DecantError =>
  FULL.includes(reason.code) ? spool.full(reason) : reason;
