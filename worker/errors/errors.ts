// `DecantError`, the only error that the API throws, and conversions of other errors to it.

import {
  DecantError,
  type DecantErrorOptions,
  type ErrorKind,
  type Failure,
  type Fields,
  nameOfAbort,
} from './decant-error.js';
import { decimalSize } from './sizes.js';
import { isObject } from './values.js';

export * from './decant-error.js';

/** An error as it is posted between workers. */
export type PlainError = Omit<Failure, 'name'>;

const NO_REASON = 'no reason was given';

/** The message of any thrown value, even of one that cannot be converted to a string. */
export function reasonOf(thrown: unknown): string {
  if (thrown === undefined) return NO_REASON;
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return NO_REASON;
  }
}

/** Returns `thrown`, or an error without a reason in its place if its properties cannot be read: getters and proxies may throw. */
export function readableError(thrown: unknown): unknown {
  if (!isObject(thrown)) return thrown;
  try {
    if (thrown instanceof Error) void thrown.cause;
    if ('kind' in thrown) void thrown.kind;
    if ('code' in thrown) void thrown.code;
    if ('fields' in thrown) void Object.values(thrown.fields ?? {});
    if ('message' in thrown) String(thrown.message);
    return thrown;
  } catch {
    return new Error(NO_REASON);
  }
}

/** Converts `thrown` to a plain error. The wasm throws plain errors; any other value gets `kind`. */
export function toPlain(thrown: unknown, kind: ErrorKind = 'internal'): PlainError {
  if (isPlain(thrown)) {
    const { code = thrown.kind, fields = {} } = thrown;
    return { kind: thrown.kind, code, fields, message: String(thrown.message) };
  }
  return { kind, code: kind, fields: {}, message: reasonOf(thrown) };
}

const isPlain = (thrown: unknown): thrown is Partial<PlainError> & Pick<PlainError, 'kind' | 'message'> =>
  isObject(thrown) && 'kind' in thrown && 'message' in thrown;

/** Converts `given` to a `DecantError`. A foreign error gets `kind`, and a message that begins with "Could not {doing}". */
export function toDecantError(given: unknown, kind: ErrorKind = 'internal', doing?: string): DecantError {
  const thrown = readableError(given);
  if (thrown instanceof DecantError) return thrown;
  const plain = toPlain(thrown, kind);
  // A cause would repeat the error.
  if (isPlain(thrown)) return new DecantError(plain.kind, plain.message, plain);
  const message = doing ? `Could not ${doing}: ${plain.message}` : plain.message;
  return new DecantError(plain.kind, message, { cause: thrown });
}

/** Why a file cannot be written, by the name of the browser's exception. */
const TARGET_REASONS: Record<string, { code: string; reason: string }> = {
  NotAllowedError: {
    code: 'writing-refused',
    reason: 'the browser does not allow writing there; choose the place again',
  },
  SecurityError: { code: 'storage-refused', reason: 'the browser does not allow this page to store files' },
  NoModificationAllowedError: {
    code: 'file-in-use',
    reason: 'the file is in use elsewhere, perhaps in another tab, or it is read-only',
  },
  // Chromium also throws it for a name that is too long, including the suffix of its swap file.
  InvalidStateError: {
    code: 'file-changed',
    reason: 'the file has changed, or its name is too long; choose another name',
  },
  NotFoundError: {
    code: 'place-gone',
    reason: 'the file or its folder is gone, or a link has its name; choose another name or place',
  },
  TypeMismatchError: { code: 'folder-of-name', reason: 'there is a folder of that name' },
};

/** Converts an error of a custom target to an error of kind `target`. Never throws. */
export function customTargetError(given: unknown): DecantError {
  const thrown = readableError(given);
  if (DecantError.is(thrown) && thrown.kind === 'target') {
    // Another copy of the package may have made the target.
    if (thrown instanceof DecantError) return thrown;
    const { code, fields } = thrown;
    return new DecantError('target', thrown.message, { code, fields, cause: thrown });
  }
  if (thrown instanceof DOMException) return toTargetError(thrown);
  const reason = thrown === undefined ? 'the target failed without a reason' : reasonOf(thrown);
  return new DecantError('target', `Could not write the output: ${reason}`, { cause: thrown });
}

/** Returns the result of `get`, which reads a property of a target. Its getters may throw: that is an error of kind `target`. */
export function orTargetError<T>(get: () => T): T {
  try {
    return get();
  } catch (thrown) {
    throw customTargetError(thrown);
  }
}

/** Converts `thrown` to an error of kind `target`. A `DecantError` is returned unchanged. */
export function toTargetError(thrown: unknown): DecantError {
  if (isStorageFull(thrown)) return storageFull(undefined, thrown);
  const known = thrown instanceof DOMException ? TARGET_REASONS[thrown.name] : undefined;
  if (known) {
    return new DecantError('target', `Could not write the output: ${known.reason}`, {
      code: known.code,
      cause: thrown,
    });
  }
  return toDecantError(thrown, 'target', 'write the output');
}

/** Resolves to the result of `work`. Its failure becomes an error of kind `target`. */
export async function orTargetFailure<T>(work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw toTargetError(thrown);
  }
}

/** The names of exceptions for full storage. That of Firefox is not a DOMException. */
const FULL: unknown[] = ['QuotaExceededError', 'NS_ERROR_FILE_NO_DEVICE_SPACE'];

export const isStorageFull = (thrown: unknown): boolean =>
  isObject(thrown) && 'name' in thrown && FULL.includes(thrown.name);

/** Makes the error for full storage. `size` is the number of bytes needed, if known. `STORAGE_FULL` of the crate has the same words. */
export function storageFull(size?: number, cause?: unknown): DecantError {
  const lack = size === undefined ? 'is full' : `has no room for ${decimalSize(size)}`;
  const message = `Could not write the output: the disk or the browser's storage ${lack}; free some space, or save another way`;
  return new DecantError('target', message, {
    code: 'storage-full',
    fields: size === undefined ? {} : { size },
    cause,
  });
}

/** The error for a lack of memory: for a buffer of `size` bytes, or for a worker. */
export function outOfMemory(cause: unknown, size?: number): DecantError {
  const what = size === undefined ? `a worker (${reasonOf(cause)})` : `a buffer of ${size} bytes`;
  const message = `There was not enough memory for ${what}; close other tabs and programs, or use fewer workers`;
  return new DecantError('internal', message, {
    code: 'out-of-memory',
    fields: size === undefined ? {} : { size },
    cause,
  });
}

/** The error for a cancel by `signal`. Only the outermost call knows `what` was cancelled, and by which signal. */
export function cancelled(what = 'The operation', signal?: AbortSignal): DecantError {
  if (!signal?.aborted) return new DecantError('cancelled', `${what} was cancelled`);
  const cause: unknown = signal.reason;
  if (nameOfAbort(cause) !== 'TimeoutError') return new DecantError('cancelled', `${what} was cancelled`, { cause });
  return new DecantError('cancelled', `${what} took longer than its time-out`, { code: 'timed-out', cause });
}

/** Settles like `work`, but rejects with `cancelled` as soon as `signal` is aborted. */
export async function orCancelled<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  if (signal.aborted) {
    // A later failure of `work` must not be an unhandled rejection.
    work.catch(() => {});
    throw cancelled();
  }
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(cancelled());
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** A failure with a code and fields for programs: docs/errors.md lists them. */
export abstract class CodedFailure extends Error {
  abstract readonly code: string;
  abstract readonly fields: Fields;
}

/** Options for a `DecantError` caused by `thrown`, with its code and fields. */
export function errorOptionsOf(thrown: unknown): DecantErrorOptions {
  if (!(thrown instanceof CodedFailure)) return { cause: thrown };
  const { code, fields } = thrown;
  return { code, fields, cause: thrown };
}

/** A listener has thrown or rejected. No layer changes its kind. */
export class ListenerError extends DecantError {
  /** `reported` is what the listener reports. */
  constructor(reported: string, cause: unknown) {
    super('usage', `Could not report ${reported}: ${reasonOf(cause)}`, { cause });
  }
}

/** Calls a listener. `fail` gets an error that it throws, or with which it rejects. */
export function callListener(listener: () => unknown, fail: (thrown: unknown) => void): void {
  try {
    // A listener that is declared without a result may be an async function.
    Promise.resolve(listener()).catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}

/** Says why something is not possible, by the error of a call that tries it. */
export const refusalOf = ({ kind, code, fields, message }: DecantError) => ({ kind, code, fields, message });
