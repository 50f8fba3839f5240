// The one error that the API throws.

export type ErrorKind =
  | 'not-recognised'
  | 'unsupported'
  | 'corrupt'
  | 'limit'
  | 'missing-file'
  | 'password'
  | 'source'
  | 'sink'
  | 'cancelled'
  | 'usage'
  | 'internal';

/** A failure: its kind, for programs, and one sentence that a person can act on. */
export class DecantError extends Error {
  override readonly name = 'DecantError';
  constructor(
    readonly kind: ErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** An error as it travels between workers. */
export interface PlainError {
  kind: ErrorKind;
  message: string;
}

const text = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** What a worker sends for `thrown`: the wasm throws plain errors already. */
export function toPlain(thrown: unknown, kind: ErrorKind = 'internal'): PlainError {
  if (typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'message' in thrown) {
    return { kind: thrown.kind as ErrorKind, message: String(thrown.message) };
  }
  return { kind, message: text(thrown) };
}

/** `thrown` as the API's error; what is not one becomes `kind`, introduced by `doing`. */
export function toDecantError(thrown: unknown, kind: ErrorKind = 'internal', doing?: string): DecantError {
  if (thrown instanceof DecantError) return thrown;
  const plain = toPlain(thrown, kind);
  const own = typeof thrown === 'object' && thrown !== null && 'kind' in thrown;
  const message = doing && !own ? `Could not ${doing}: ${plain.message}` : plain.message;
  return new DecantError(plain.kind, message, { cause: thrown });
}

/** What the browser says about a file that cannot be written, by the name of its exception. */
const SINK_REASONS: Record<string, string> = {
  NotAllowedError: 'the browser does not allow writing there; choose the place again',
  SecurityError: 'the browser does not allow this page to store files',
  QuotaExceededError: "the disk or the browser's storage is full; free some space",
  NoModificationAllowedError: 'the file is in use elsewhere, perhaps in another tab',
  NotFoundError: 'the file or its folder is gone; choose the place again',
  TypeMismatchError: 'there is a folder of that name',
};

/** `thrown` as an error of the output; one of our own stays what it is. */
export function toSinkError(thrown: unknown): DecantError {
  const reason = thrown instanceof DOMException ? SINK_REASONS[thrown.name] : undefined;
  if (reason) return new DecantError('sink', `Could not write the output: ${reason}`, { cause: thrown });
  return toDecantError(thrown, 'sink', 'write the output');
}

export const cancelled = (): DecantError => new DecantError('cancelled', 'The conversion was cancelled');

/** Rejects with `cancelled` as soon as `signal` is aborted, whatever `work` does then. */
export async function orCancelled<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  if (signal.aborted) {
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
