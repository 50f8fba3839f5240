// `DecantError`, the only error that the API throws, and what makes one of other errors.

import { shownMessage } from './shown.js';
import { isObject } from './values.js';

/** What has failed, for programs. */
export type ErrorKind =
  /** The file is in no format that Decant reads. */
  | 'not-recognised'
  /** The image uses a feature, named in the message, that Decant does not read. */
  | 'unsupported'
  /** The image is damaged or truncated. The message says where. */
  | 'corrupt'
  /** A number in the image, or the size of the disk, exceeds a limit. */
  | 'limit'
  /** The image refers to a file that was not handed over. The message names the file and its role. */
  | 'missing-file'
  /** A password is needed, or is wrong. */
  | 'password'
  /** The image, or a companion, cannot be read, or has changed meanwhile. */
  | 'source'
  /** The output cannot be written. */
  | 'sink'
  /** The caller has aborted the operation, or closed the image. */
  | 'cancelled'
  /** The caller has made a mistake: a wrong option, or something that this environment does not have. */
  | 'usage'
  /** Memory ran out, a worker has died, or Decant itself is at fault. */
  | 'internal';

/**
 * A failure: a kind for programs, and one sentence that a person can act on. The message has at most 1,000 characters;
 * names and other text in it are escaped.
 */
export class DecantError extends Error {
  /** By this and its shape it is recognised. */
  override readonly name = 'DecantError';

  /** `kind` is what has failed, for programs; `message` is shown escaped and cut. */
  constructor(
    /** What has failed, for programs. */
    readonly kind: ErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(shownMessage(message), options);
  }

  /**
   * Whether `value` is a failure of Decant: an error of this copy of the package or of another one, or what `toJSON` has
   * made of one.
   */
  static is(value: unknown): value is Failure {
    if (!isObject(value)) return false;
    const { name, kind, message } = value as Partial<Record<keyof Failure, unknown>>;
    return name === 'DecantError' && typeof kind === 'string' && typeof message === 'string';
  }

  /** What of it can be posted to another window or process: a copy of the error itself has no `kind`. */
  toJSON(): Failure {
    const { name, kind, message } = this;
    return { name, kind, message };
  }
}

/** A `DecantError` as plain data. */
export interface Failure {
  /** By this and its shape it is recognised. */
  name: 'DecantError';
  /** What has failed, for programs. */
  kind: ErrorKind;
  /** One sentence that a person can act on. */
  message: string;
}

/** An error as it is posted between workers. */
export interface PlainError {
  kind: ErrorKind;
  message: string;
}

/** The message of whatever was thrown, even if it cannot be made a string. */
export function reasonOf(thrown: unknown): string {
  if (thrown === undefined) return 'no reason was given';
  if (thrown instanceof Error) return thrown.message;
  try {
    return String(thrown);
  } catch {
    return 'no reason was given';
  }
}

/** `thrown` as a plain error. The wasm throws plain errors; anything else becomes `kind`. */
export function toPlain(thrown: unknown, kind: ErrorKind = 'internal'): PlainError {
  if (typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'message' in thrown) {
    return { kind: thrown.kind as ErrorKind, message: String(thrown.message) };
  }
  return { kind, message: reasonOf(thrown) };
}

/** `thrown` as a `DecantError`. A foreign error becomes `kind`, and its message begins with what Decant was `doing`. */
export function toDecantError(thrown: unknown, kind: ErrorKind = 'internal', doing?: string): DecantError {
  if (thrown instanceof DecantError) return thrown;
  const plain = toPlain(thrown, kind);
  // A cause would say the same once more.
  if (isObject(thrown) && 'kind' in thrown) return new DecantError(plain.kind, plain.message);
  const message = doing ? `Could not ${doing}: ${plain.message}` : plain.message;
  return new DecantError(plain.kind, message, { cause: thrown });
}

/** Why a file cannot be written, by the name of the browser's exception. */
const SINK_REASONS: Record<string, string> = {
  NotAllowedError: 'the browser does not allow writing there; choose the place again',
  SecurityError: 'the browser does not allow this page to store files',
  QuotaExceededError: "the disk or the browser's storage is full; free some space",
  NoModificationAllowedError: 'the file is in use elsewhere, perhaps in another tab',
  NotFoundError: 'the file or its folder is gone; choose the place again',
  TypeMismatchError: 'there is a folder of that name',
};

/** An error of a caller's own target: always of kind `sink`. */
export function toTargetError(thrown: unknown): DecantError {
  if (DecantError.is(thrown) && thrown.kind === 'sink') {
    // `decant/upload` has a copy of this class.
    return thrown instanceof DecantError ? thrown : new DecantError('sink', thrown.message, { cause: thrown });
  }
  if (thrown instanceof DOMException) return toSinkError(thrown);
  // The reader of a stream may close it without a reason.
  const reason = thrown === undefined ? 'its reader has closed the stream' : reasonOf(thrown);
  return new DecantError('sink', `Could not write the output: ${reason}`, { cause: thrown });
}

/** `thrown` as an error of kind `sink`. A `DecantError` stays as it is. */
export function toSinkError(thrown: unknown): DecantError {
  const reason = thrown instanceof DOMException ? SINK_REASONS[thrown.name] : undefined;
  if (reason) return new DecantError('sink', `Could not write the output: ${reason}`, { cause: thrown });
  return toDecantError(thrown, 'sink', 'write the output');
}

/** `what` is known to the call that a program has made; within, it is any operation. */
export const cancelled = (what = 'The operation'): DecantError => new DecantError('cancelled', `${what} was cancelled`);

/** As `work`, but rejects with `cancelled` as soon as `signal` is aborted. */
export async function orCancelled<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  if (signal.aborted) {
    // Nobody waits for `work` any more, so its failure is nobody's.
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
