// A stream of the caller's, as a target: it gets the whole output, piece by piece in ascending order.

import { DecantError } from '../errors/errors.js';
import type { Target } from '../public/types.js';

/** Locks `stream`. Fails with `usage` where somebody else has. */
export function streamTarget(stream: WritableStream<Uint8Array>): Target {
  if (stream.locked) throw new DecantError('usage', 'The stream is locked: somebody else writes to it');
  const writer = stream.getWriter();
  // A stream may fail at any time; the next write tells.
  writer.closed.catch(() => {});
  return {
    ordered: true,
    // It has a queue of its own, and waits for nothing between two pieces.
    concurrency: 2,
    write: (_offset, bytes) => writer.write(bytes),
    async close() {
      await writer.close();
      writer.releaseLock();
    },
    abort: (reason) => writer.abort(reason),
  };
}
