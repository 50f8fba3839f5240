// The targets of streams and custom targets. Imported only by `loadCustomTargets`.

import { customTargetError, DecantError } from '../errors/errors.js';
import { isStream } from '../errors/values.js';
import type { Target } from '../public/types.js';
import { CustomTarget } from './custom-target.js';
import type { Spool } from './output-target.js';
import { SpooledTarget } from './spooled-target.js';

export type CustomOutput = WritableStream<Uint8Array> | Target;

/** Locks a stream. Throws `usage` if it is locked already. */
export function customTarget(output: CustomOutput, isVerified = false): CustomTarget {
  if (!isStream(output)) return new CustomTarget(output, undefined, isVerified);
  const target = streamTarget(output);
  return new CustomTarget(target, target.requireOpen);
}

/** Like `customTarget`, but the output is made in a temporary file and then sent. */
export const spooledTarget = (output: CustomOutput, spool: Spool, isVerified = false): SpooledTarget =>
  new SpooledTarget(customTarget(output, isVerified), spool);

interface StreamTarget extends Target {
  /** Fails with `usage` if the stream is closed, and with its error if it has failed. */
  requireOpen(): Promise<void>;
}

const OPEN = Symbol('open');

/** Locks `stream`. Throws `usage` if it is locked already. */
export function streamTarget(stream: WritableStream<Uint8Array>): StreamTarget {
  if (stream.locked) throw new DecantError('usage', 'The stream is locked by another writer');
  const writer = stream.getWriter();
  // A stream may fail at any time; the next write reports it.
  writer.closed.catch(() => {});
  return {
    ascending: true,
    // The stream has its own queue: with two writes, it never waits between pieces.
    concurrency: 2,
    async requireOpen() {
      const state = await Promise.race([writer.closed, OPEN])
        .catch(fail)
        .catch((thrown) => {
          throw customTargetError(thrown);
        });
      if (state !== OPEN) throw new DecantError('usage', 'The stream is closed');
    },
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
