// Streams and custom targets as outputs. The code that writes to them is loaded when it is needed: most outputs are files.

import { type DecantError, orTargetError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { isObject, isStream } from '../errors/values.js';
import type { Target } from '../public/types.js';
import { writers } from './claims.js';
import type { CustomOutput } from './custom-targets.js';

const METHODS = ['write', 'close', 'abort'] as const;

/** Whether `value` is a stream or has the shape of a custom target. Throws `target` if a getter of it throws. */
export const isCustomOutput = (value: unknown): value is CustomOutput =>
  isObject(value) &&
  orTargetError(
    () => isStream(value) || METHODS.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
  );

/** Whether the finished output can be read back. Throws `target` if a getter of a custom target throws. */
export const canBeReadBack = (output: unknown): boolean =>
  !isCustomOutput(output) || orTargetError(() => !isStream(output) && typeof output.readBack === 'function');

/** Loads the code that writes to streams and custom targets. Fails with `internal` if it cannot be loaded. */
export const loadCustomTargets = () => loadPart('streams and custom targets', () => import('./custom-targets.js'));

/**
 * Aborts the `output` of a conversion that does not start, if it is a stream or a custom target: a reader may be waiting for it.
 * An output that another conversion is writing to is left alone.
 */
export function abandonOutput(output: unknown, reason: DecantError): void {
  const abandon = async () => {
    if (!isObject(output) || !('abort' in output) || !('write' in output || isStream(output))) return;
    const isBusy = isStream(output) ? output.locked : writers.has(output as Target);
    if (!isBusy) await (output as Target).abort(reason, false);
  };
  // The caller gets `reason`, not a failure of the abort.
  abandon().catch(() => {});
}
