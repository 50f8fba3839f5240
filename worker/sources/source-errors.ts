// Converts values that custom sources and streams throw to errors of kind `source`.

import {
  DecantError,
  type DecantErrorOptions,
  errorOptionsOf,
  ListenerError,
  readableError,
  reasonOf,
} from '../errors/errors.js';

/** Returns the result of `get`, which reads properties of a source. Its getters may throw: that is an error of kind `source`. */
export function orSourceError<T>(get: () => T): T {
  try {
    return get();
  } catch (thrown) {
    throw sourceError(thrown);
  }
}

/** Converts a value that a source or stream has thrown to an error of kind `source`. */
export function sourceError(given: unknown): DecantError {
  const thrown = readableError(given);
  return thrown instanceof ListenerError ? thrown : unreadable(reasonOf(thrown), errorOptionsOf(thrown));
}

/** Fails with `source` if `blob` can no longer be read: it is a file that was changed, moved or removed since it was chosen. */
export async function requireReadable(blob: Blob): Promise<void> {
  try {
    await blob.slice(0, 1).arrayBuffer();
  } catch (cause) {
    const reason =
      'the browser can no longer read the file, which may have been changed, moved or removed since it was chosen; choose it again';
    throw unreadable(reason, { code: 'source-unreadable', cause });
  }
}

export const unreadable = (reason: string, options?: DecantErrorOptions): DecantError =>
  new DecantError('source', `Could not read the image: ${reason}`, options);
