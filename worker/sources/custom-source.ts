// A source of the caller's own: an object that is called on this side, whoever needs the bytes.

import { isObject } from '../calls/values.js';
import { cancelled, DecantError, type DecantErrorOptions, orCancelled, reasonOf } from '../errors/errors.js';
import { madeOf } from '../http/failures.js';
import type { Source } from '../public/types.js';
import type { OpenedSource } from './opened-source.js';
import { openSequential, SequentialFile } from './whole-file.js';

/** Whether `value` is meant as a source of the caller's own. */
export const isCustomSource = (value: unknown): value is Source =>
  isObject(value) && 'read' in value && typeof value.read === 'function';

/** Whether it is to be told what will be read. */
export const expects = (source: Source): boolean => typeof source.expect === 'function';

/** Checks `source`. Fails with `usage` where its size or its name cannot be one. */
export function openCustomSource(source: Source): OpenedSource {
  if (source instanceof SequentialFile) return openSequential(source);
  const { size, name, unnoticed, state }: { size: unknown; name?: unknown; unnoticed?: unknown; state?: unknown } =
    source;
  if (!Number.isSafeInteger(size) || (size as number) < 0) {
    throw new DecantError('usage', `The size of a source is a whole number of bytes from 0 to 2^53-1, not ${size}`);
  }
  if (name !== undefined && typeof name !== 'string') {
    throw new DecantError('usage', 'The name of a source is a string');
  }
  if (unnoticed !== undefined && typeof unnoticed !== 'string') {
    throw new DecantError('usage', "A source's 'unnoticed' is a string");
  }
  if (state !== undefined && typeof state !== 'string') {
    throw new DecantError('usage', "A source's 'state' is a string");
  }
  return {
    spec: { custom: source, size: size as number },
    state,
    identity: source,
    name,
    size: size as number,
    // At the end it may know more.
    get unnoticed() {
      return source.unnoticed;
    },
    verify: async () => {
      if (source.state !== state)
        throw failed('the file was changed while it was read; open it again', { code: 'source-changed' });
    },
    ...(typeof source.verify === 'function' ? { confirm: (signal) => confirm(source, signal) } : {}),
    close: async () => {},
  };
}

async function confirm(source: Source, signal: AbortSignal): Promise<void> {
  try {
    await orCancelled(signal, (async () => source.verify?.({ signal }))());
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw failed(reasonOf(thrown), madeOf(thrown));
  }
}

const failed = (reason: string, options?: DecantErrorOptions): DecantError =>
  new DecantError('source', `Could not read the image: ${reason}`, options);

/**
 * The `length` bytes of `source` at `offset`. Fails with `source` where it throws or gives something else, and with
 * `cancelled` as soon as `signal` is aborted, whatever it does then.
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
    // What is thrown at once is a rejection, too.
    const reading = (async () => source.read(offset, length, { signal }))();
    given = await orCancelled(signal, reading);
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw failed(reasonOf(thrown), madeOf(thrown));
  }
  if (!isBytes(given)) {
    throw failed(`its source was asked for ${length} bytes at byte ${offset} and returned no Uint8Array`);
  }
  if (given.length !== length) {
    // What was returned once is given away, and has no bytes any more.
    const advice = given.length === 0 ? '; an array that it keeps must be a copy' : '';
    throw failed(`its source returned ${given.length} bytes instead of ${length} at byte ${offset}${advice}`);
  }
  return given as Uint8Array<ArrayBuffer>;
}

/** Tells `source` what will be read. What goes wrong in it is told by the reads. */
export function announceReads(source: Source, ranges: { offset: number; length: number }[]): void {
  try {
    source.expect?.(ranges);
  } catch {
    // It affects speed only.
  }
}

/** Also where it comes from another window or another realm of Node. */
const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
