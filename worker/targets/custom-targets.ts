// The targets of streams and custom targets. Imported only by `loadCustomTargets`.

import { isStream } from '../errors/values.js';
import type { CustomOutput } from './custom-output.js';
import { CustomTarget } from './custom-target.js';
import type { Spool } from './spool.js';
import { SpooledTarget } from './spooled-target.js';
import { streamTarget } from './stream-target.js';

/** Locks a stream. Throws `usage` if it is locked already. */
export function customTarget(output: CustomOutput): CustomTarget {
  if (!isStream(output)) return new CustomTarget(output);
  const target = streamTarget(output);
  return new CustomTarget(target, target.requireOpen);
}

/** As `customTarget`, by way of a temporary file. */
export const spooledTarget = (output: CustomOutput, spool: Spool): SpooledTarget =>
  new SpooledTarget(customTarget(output), spool);
