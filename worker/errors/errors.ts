// `DecantError`, the only error that the API throws, and conversions of other errors to it.

import { shownMessage } from './shown.js';
import { decimalSize } from './sizes.js';
import { isObject } from './values.js';

/** The kind of a failure, for programs. */
export type ErrorKind =
  /** The file is not in a supported format. */
  | 'not-recognised'
  /** The image uses an unsupported feature. The message names it. */
  | 'unsupported'
  /** The image is damaged or truncated. The message says where. */
  | 'corrupt'
  /** A number in the image, or the size of the disk, exceeds a limit. */
  | 'limit'
  /** The image refers to a file that was not handed over. The message names the file and its role. */
  | 'missing-file'
  /** A password is needed, or is wrong. */
  | 'password'
  /** The image or a companion cannot be read, or changed while it was read. */
  | 'source'
  /** The output cannot be written. */
  | 'target'
  /** The caller aborted the operation or closed the image. */
  | 'cancelled'
  /** A mistake of the caller: a wrong option, or a feature that this environment does not have. */
  | 'usage'
  /** Memory ran out, a worker died, or Decant has a bug. */
  | 'internal';

/** A container of an image. */
export interface ContainerInfo {
  /** `gzip`, `xz`, `zstd`, `bzip2`, `lz4`, `tar` or `zip`. */
  name: string;
  /** The name of the member that is the image, if members have names. */
  member?: string;
}

/** A disk in a container. */
export interface Member {
  /** Its name in the container, unchanged: show it with `shownText`. */
  readonly name: string;
  /** Its size in the container, in bytes. */
  readonly size: number;
  /** The name of its format, if recognised. */
  readonly format?: string;
  /** Whether its file was not passed; only of a disk of a virtual machine. Then `size` is 0. */
  readonly missing?: boolean;
}

/** An internal snapshot. */
export interface Snapshot {
  /** Its ID, unique within the image. */
  id: string;
  /** Its name. */
  name: string;
  /** When it was taken, in seconds since 1970. */
  dateSeconds: number;
  /** The nanoseconds of that time. */
  dateNanoseconds: number;
  /** The guest's clock at that time, in nanoseconds. */
  vmClockNanoseconds: number;
  /** The size of the saved state of the machine. */
  vmStateSize: number;
  /** The guest's instruction count, if recorded. */
  icount?: number;
  /** The size of the disk at that time, if recorded. */
  virtualSize?: number;
}

/**
 * The subject of an error or a notice, for programs: docs/errors.md lists the fields of each code. Texts are unchanged: show
 * them by `shownText`. Sizes and offsets are in bytes.
 */
export interface Fields {
  /** The companion at fault, or the file that is missing. */
  readonly file?: string;
  /** The file that refers to the missing one. */
  readonly neededBy?: string;
  /** The encrypted layer, as `info.layers` lists it. */
  readonly layer?: string;
  /** The message without its part about the state of the output; missing if the message has no such part. */
  readonly reason?: string;
  /** The remains of the output, as a sentence. */
  readonly left?: string;
  /** Whether progress was saved: the same conversion with `resume` continues it. */
  readonly kept?: boolean;
  /** The format to state. */
  readonly format?: string;
  /** The status of a server's answer. */
  readonly status?: number;
  /** The disks in the container, as `image.members` lists them. */
  readonly disks?: readonly Member[];
  /** The containers around the image, as `info.containers` lists them. */
  readonly containers?: readonly ContainerInfo[];
  /** The snapshots of the virtual machine, as `info.snapshots` lists them. */
  readonly snapshots?: readonly Snapshot[];
  /** Further fields of a code. */
  readonly [field: string]:
    | string
    | number
    | boolean
    | readonly Member[]
    | readonly ContainerInfo[]
    | readonly Snapshot[]
    | undefined;
}

/** The optional parts of a `DecantError`. */
export interface DecantErrorOptions {
  /** A code of docs/errors.md; by default the kind. */
  code?: string;
  /** The subject of the error. */
  fields?: Fields;
  /** The error that caused this one. */
  cause?: unknown;
}

/**
 * A failure: a kind, a code and fields for programs, and one sentence that a person can act on. The message has at most
 * 1,000 characters; names and other text in it are escaped.
 */
export class DecantError extends Error {
  /** `DecantError.is` recognises the error by it. */
  override readonly name = 'DecantError';
  /** The exact failure: a code of docs/errors.md, or the kind. */
  readonly code: string;
  /** The subject of the error; empty if the code has no fields. */
  readonly fields: Fields;

  /** Escapes and shortens `message`. */
  constructor(
    /** The kind of the failure. */
    readonly kind: ErrorKind,
    message: string,
    { code = kind, fields = {}, ...options }: DecantErrorOptions = {},
  ) {
    super(shownMessage(message), options);
    this.code = code;
    this.fields = fields;
  }

  /**
   * Whether `value` is a failure of Decant: an error of this or another copy of the package, or the result of `toJSON`, which
   * has no `cause`.
   */
  static is(value: unknown): value is Failure & { readonly cause?: unknown } {
    if (!isObject(value)) return false;
    try {
      const { name, kind, message } = value as Partial<Record<keyof Failure, unknown>>;
      return name === 'DecantError' && typeof kind === 'string' && typeof message === 'string';
    } catch {
      return false;
    }
  }

  /** Returns the error as plain data, to post to another window or process: a structured clone has no `kind`. */
  toJSON(): Failure {
    const { name, kind, code, fields, message } = this;
    return { name, kind, code, fields, message };
  }
}

/** A `DecantError` as plain data. */
export interface Failure {
  /** `DecantError.is` recognises the error by it. */
  name: 'DecantError';
  /** The kind of the failure. */
  kind: ErrorKind;
  /** The exact failure: a code of docs/errors.md, or the kind. */
  code: string;
  /** The subject of the error. */
  fields: Fields;
  /** One sentence that a person can act on. */
  message: string;
}

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
    // `decant/upload` has a copy of this class.
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

/** The error for a cancel. Only the outermost call knows `what` was cancelled. */
export const cancelled = (what = 'The operation'): DecantError => new DecantError('cancelled', `${what} was cancelled`);

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
