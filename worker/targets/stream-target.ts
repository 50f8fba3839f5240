// A WritableStream as a target: it receives the whole output in ascending pieces.

import { DecantError } from '../errors/errors.js';
import type { Target } from '../public/types.js';

/** Locks `stream`. Throws `usage` if it is locked already. */
export function streamTarget(stream: WritableStream<Uint8Array>): Target {
  if (stream.locked) throw new DecantError('usage', 'The stream is locked by another writer');
  const writer = stream.getWriter();
  // A stream may fail at any time; the next write reports it.
  writer.closed.catch(() => {});
  return {
    ordered: true,
    // The stream has its own queue: with two writes, it never waits between pieces.
    concurrency: 2,
    write: (_offset, bytes) => writer.write(bytes).catch(fail),
    async close() {
      await writer.close().catch(fail);
      writer.releaseLock();
    },
    abort: (reason) => writer.abort(reason),
  };
}

/** Throws the failure of a stream. The reader may close it without a reason. */
function fail(thrown: unknown): never {
  if (thrown !== undefined) throw thrown;
  throw new DecantError('target', 'Could not write the output: its reader has closed the stream');
}
