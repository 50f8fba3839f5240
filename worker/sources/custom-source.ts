// Custom sources: objects that are called on the calling side.

import { shownValue } from '../errors/argument-checks.js';
import { cancelled, DecantError, orCancelled } from '../errors/errors.js';
import { callListener } from '../errors/listener-error.js';
import type { Network, Source } from '../public/types.js';
import type { OpenedSource } from './opened-source.js';
import { openSequential, SequentialFile } from './sequential-file.js';
import { orSourceError, sourceError, unreadable } from './source-errors.js';

/** Whether reads are announced to `source`. */
export const expects = (source: Source): boolean => orSourceError(() => typeof source.expect === 'function');

/** Opens `source`. Throws `usage` for an invalid property. */
export function openCustomSource(source: Source): OpenedSource {
  if (source instanceof SequentialFile) return openSequential(source);
  const { size, name, unnoticed, state, verifies } = propertiesOf(source);
  if (!Number.isSafeInteger(size) || (size as number) < 0) {
    throw new DecantError(
      'usage',
      `The size of a source must be a whole number of bytes from 0 to 2^53-1, not ${shownValue(size)}`,
    );
  }
  if (name !== undefined && typeof name !== 'string') {
    throw new DecantError('usage', 'The name of a source must be a string');
  }
  if (unnoticed !== undefined && typeof unnoticed !== 'string') {
    throw new DecantError('usage', "A source's 'unnoticed' must be a string");
  }
  if (state !== undefined && typeof state !== 'string') {
    throw new DecantError('usage', "A source's 'state' must be a string");
  }
  return {
    spec: { custom: source, size: size as number },
    state,
    identity: source,
    name,
    size: size as number,
    // It may change until the end of a conversion.
    get unnoticed() {
      return orSourceError(() => source.unnoticed);
    },
    verify: async () => {
      if (orSourceError(() => source.state) !== state)
        throw unreadable('the file was changed while it was read; open it again', { code: 'source-changed' });
    },
    ...(verifies ? { confirm: (signal) => confirm(source, signal) } : {}),
    close: async () => {},
  };
}

const propertiesOf = (
  source: Source,
): { size: unknown; name: unknown; unnoticed: unknown; state: string | undefined; verifies: boolean } =>
  orSourceError(() => {
    const { size, name, unnoticed, state } = source;
    // A failure is reported now, not at the first read.
    void source.expect;
    return { size, name, unnoticed, state, verifies: typeof source.verify === 'function' };
  });

/** The traffic of `source` so far, if it is on a network. Throws `source` if that cannot be read. */
export const networkOf = (source: Source): Network | undefined => orSourceError(() => source.network);

async function confirm(source: Source, signal: AbortSignal): Promise<void> {
  try {
    await orCancelled(signal, (async () => source.verify?.({ signal }))());
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw sourceError(thrown);
  }
}

/**
 * Reads exactly `length` bytes of `source` at `offset`. Fails with `source` if it throws or returns something else, and with
 * `cancelled` as soon as `signal` is aborted, without waiting for the source.
 */
export async function readCustomSource(
  source: Source,
  offset: number,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  if (signal.aborted) throw cancelled();
  let given: unknown;
  try {
    // The async wrapper makes a synchronous throw a rejection.
    const reading = (async () => source.read(offset, length, { signal }))();
    given = await orCancelled(signal, reading);
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw sourceError(thrown);
  }
  if (!isBytes(given)) {
    throw unreadable(`its source did not return a Uint8Array for ${length} bytes at byte ${offset}`);
  }
  if (given.length !== length) {
    // Returned buffers are transferred: an array that is returned twice is empty the second time.
    const advice = given.length === 0 ? '; it must return a copy of an array that it keeps' : '';
    throw unreadable(`its source returned ${given.length} bytes instead of ${length} at byte ${offset}${advice}`);
  }
  return given as Uint8Array<ArrayBuffer>;
}

/** Announces reads to `source`. Its failures are ignored: the reads themselves report them. */
export function announceReads(source: Source, ranges: { offset: number; length: number }[]): void {
  // Announcements affect only the speed.
  callListener(
    () => source.expect?.(ranges),
    () => {},
  );
}

/** Accepts arrays of another window or realm. */
const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
