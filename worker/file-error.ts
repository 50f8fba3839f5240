// What Node's file system says, as a sentence.

import { DecantError, type ErrorKind } from './errors.js';

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'the operation is not permitted',
  EROFS: 'the file system is read-only',
  ELOOP: 'its links lead in a circle',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file system takes no file of this size',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EMFILE: 'too many files are open',
  EBUSY: 'it is in use, mounted for instance',
  EIO: 'the disk reports an error',
  EPIPE: 'its reader has ended',
};

/** Why `thrown` was thrown, to follow a colon. */
export function fileReason(thrown: unknown): string {
  const { code = '', message } = thrown as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}

/** `thrown` as an error of `kind`: "Could not {doing}: {reason}". */
export function fileError(thrown: unknown, kind: ErrorKind, doing: string): DecantError {
  if (thrown instanceof DecantError) return thrown;
  return new DecantError(kind, `Could not ${doing}: ${fileReason(thrown)}`, { cause: thrown });
}
