// Sentences for errors of Node's file system.

import { DecantError, type ErrorKind } from './errors.js';

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'the operation is not permitted',
  EROFS: 'the file system is read-only',
  ELOOP: 'its links lead in a circle',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file system, or a limit of this process (`ulimit -f`), does not allow files of this size',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EMFILE: 'too many files are open',
  EBUSY: 'it is in use, mounted for instance',
  EIO: 'the disk reports an error',
  EPIPE: 'its reader has ended',
  ENAMETOOLONG: 'its name is longer than 255 bytes, or its path than 4,095',
  ENFILE: 'too many files are open on this system',
  ENXIO: 'no device responds there',
  ENODEV: 'there is no such device',
  ESTALE: 'the file is gone from the file server',
  ETXTBSY: 'it is a running program',
  EEXIST: 'it already exists',
  EINVAL: 'the file system does not allow this',
  ENOTSUP: 'the file system does not support this',
  ETIMEDOUT: 'the file server does not respond',
};

/** Error codes for programs. */
const CODES: Record<string, string> = {
  ENAMETOOLONG: 'name-too-long',
  ENOSPC: 'disk-full',
  EDQUOT: 'disk-full',
  EFBIG: 'file-too-large',
};

/** A message of Node: the code, the system's text, the call and its paths. */
const MESSAGE = /^[A-Z][A-Z0-9_]+: (.+?)(?:, [a-z]+(?: '.*)?)?$/s;

/** The reason for `thrown`, to follow a colon. */
export function fileReason(thrown: unknown): string {
  const { code = '', message } = thrown as NodeJS.ErrnoException;
  return REASONS[code] ?? MESSAGE.exec(message)?.[1] ?? message;
}

/** Converts `thrown` to an error of `kind`: "Could not {doing}: {reason}". A `DecantError` is returned unchanged. */
export function fileError(thrown: unknown, kind: ErrorKind, doing: string): DecantError {
  if (thrown instanceof DecantError) return thrown;
  const code = CODES[(thrown as NodeJS.ErrnoException).code ?? ''] ?? kind;
  return new DecantError(kind, `Could not ${doing}: ${fileReason(thrown)}`, { code, cause: thrown });
}

/** The error for an existing file, which is not replaced. */
export const fileExists = (path: string): DecantError =>
  new DecantError('target', `'${path}' already exists; remove it, or choose another name`, {
    code: 'file-exists',
  });
