// Reads the finished output of a target back, to verify it.

import { DecantError, orTargetFailure, toDecantError } from '../errors/errors.js';
import { RequestLimit } from '../http/request-limit.js';
import type { Converted } from '../messages/coordinator.js';
import type { ReadableOutput, Verified } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { OutputTarget } from '../targets/output-target.js';
import { type ConversionContext, sumOf } from './conversion-disks.js';
import type { RunOptions } from './options.js';
import type { ChosenFormat } from './output-format.js';
import type { Platform } from './platform.js';
import type { Meter } from './progress.js';

/** The codes of failures that say that the output, which was read back, is wrong. */
export const DIFFERS = 'verify-differs';
export const UNREADABLE = 'verify-unreadable';

/** Whether `error` says that the output is wrong. */
export const isWrongOutput = ({ code }: DecantError): boolean => code === DIFFERS || code === UNREADABLE;

/** Reads finished outputs back, and compares their guest sums with those of the conversion. */
export interface Verification {
  /** The seed of the sums. */
  seed: Uint8Array;
  /** Whether the output counts if it cannot be read back: the place asks for the verification, not the caller. */
  isOptional: boolean;
  /**
   * Compares the disks of `output` with those that were `converted`. Reports how many bytes of the disks are done. Resolves to their size.
   * Fails with `target` if they differ or cannot be read.
   */
  compare(
    output: OpenedSource,
    converted: Converted,
    chosen: ChosenFormat,
    options: RunOptions,
    report: (done: number) => void,
  ): Promise<number>;
}

/**
 * Verifies the output, which is complete. Resolves to `undefined` if it cannot be read back, and the verification is optional. Fails as
 * `compare` of the verification does, and with `not-verifiable` if the output of a custom target cannot be read because of its server.
 */
export async function readBack(
  target: OutputTarget,
  { platform }: ConversionContext,
  converted: Converted,
  chosen: ChosenFormat,
  verification: Verification,
  options: RunOptions,
  meter: Meter,
): Promise<Verified | undefined> {
  const { signal } = options;
  const guestBytes = sumOf(converted.disks, 'diskSize');
  const report = (done: number) => meter.verifying(done, guestBytes);
  report(0);
  let isOfCustomTarget = false;
  const open = (readable: ReadableOutput) => {
    isOfCustomTarget = true;
    return openReadable(platform, readable, signal);
  };
  let output: OpenedSource | undefined;
  let isOpened = false;
  try {
    output = await orTargetFailure(target.readBack!(converted.outputSize, open));
    isOpened = true;
    if (output) {
      requireWhole(output, converted.outputSize);
      await verification.compare(output, converted, chosen, options, report);
    }
    meter.sent();
    return { guestBytes, method: output ? 'read-back' : 'checksums' };
  } catch (thrown) {
    const error = toDecantError(thrown);
    const unread = isOfCustomTarget ? readFailure(error) : undefined;
    if (verification.isOptional && !signal.aborted && (!isOpened || unread)) return undefined;
    throw unread ? notVerifiable(unread) : error;
  } finally {
    await output?.close();
  }
}

/** The failure of the server, or of the custom source, that has caused `error`. It says nothing about the output. */
function readFailure(error: DecantError): DecantError | undefined {
  const { code, cause } = error;
  const failure = code === UNREADABLE && cause !== undefined ? toDecantError(cause) : error;
  return failure.kind === 'source' ? failure : undefined;
}

function notVerifiable(cause: DecantError): DecantError {
  const reason = cause.message;
  const message = `The output is complete, but could not be verified: ${reason}`;
  return new DecantError('target', message, { code: 'not-verifiable', fields: { reason }, cause });
}

/** Fails with `target` unless `output`, which is read back, has `size` bytes. */
function requireWhole(output: OpenedSource, size: number): void {
  if (output.size === size) return;
  const reason = `it has ${output.size} bytes instead of ${size}`;
  throw new DecantError('target', `The output cannot be read back: ${reason}`, {
    code: UNREADABLE,
    fields: { reason },
  });
}

/** Opens the output of a custom target. */
async function openReadable(platform: Platform, output: ReadableOutput, signal: AbortSignal): Promise<OpenedSource> {
  const limit = new RequestLimit();
  if (!('url' in output)) return platform.openSource(output, { limit, signal });
  const { url, ...options } = output;
  return platform.openSource(url, { ...options, limit, signal });
}
