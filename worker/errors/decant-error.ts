// `DecantError`, with the types of its properties: separate from what makes errors, so that a page that imports only the class loads
// nothing else.

import type { ErrorCode } from './names.js';
import { shownMessage } from './shown.js';
import { isObject, isOf } from './values.js';

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
  readonly name: string;
  /** The name of the member that is the image, if members have names. */
  readonly member?: string;
}

/** A disk in a container. */
export interface DiskMember {
  /** Its name in the container, unchanged: show it with `shownText`. */
  readonly name: string;
  /** Its size in the container, in bytes. */
  readonly size: number;
  /** The name of its format, if recognised. */
  readonly format?: string;
  /** Its virtual size in bytes, if the configuration of its virtual machine states it. */
  readonly virtualSize?: number;
  /** Whether its file was not passed; only of a disk of a virtual machine. Then `size` is 0. */
  readonly missing?: boolean;
}

/** An internal snapshot. */
export interface Snapshot {
  /** Its ID, unique within the image. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** When it was taken, in seconds since 1970, with microseconds as its fraction if the image records them. */
  readonly date: number;
  /** The guest's clock at that time, in seconds. */
  readonly vmClock: number;
  /** The size of the saved state of the machine. */
  readonly vmStateSize: number;
  /** The guest's instruction count, if recorded. */
  readonly icount?: number;
  /** The size of the disk at that time, if recorded. */
  readonly virtualSize?: number;
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
  readonly resumable?: boolean;
  /** The format to state. */
  readonly format?: string;
  /** The status of a server's answer. */
  readonly status?: number;
  /** The disks in the container, as `image.disks` lists them. */
  readonly disks?: readonly DiskMember[];
  /** The name of the container. */
  readonly container?: string;
  /** The containers around the image, as `info.containers` lists them. */
  readonly containers?: readonly ContainerInfo[];
  /** The snapshots of the virtual machine, as `info.snapshots` lists them. */
  readonly snapshots?: readonly Snapshot[];
  /** Further fields of a code. */
  readonly [field: string]:
    | string
    | number
    | boolean
    | readonly DiskMember[]
    | readonly ContainerInfo[]
    | readonly Snapshot[]
    | undefined;
}

/**
 * The name of a failure. That of a cancelled call is the name of the reason of its signal, if it is one of these: `AbortError` after `abort()`,
 * `TimeoutError` after the time of `AbortSignal.timeout`.
 */
export type FailureName = 'DecantError' | 'AbortError' | 'TimeoutError';

const NAMES: readonly FailureName[] = ['DecantError', 'AbortError', 'TimeoutError'];

/** The name of `reason`, if it is a reason of the platform for an abort. */
export const nameOfAbort = (reason: unknown): FailureName | undefined =>
  isOf<DOMException>(reason, 'DOMException') ? NAMES.find((name) => name === reason.name) : undefined;

/** The optional parts of a `DecantError`. */
export interface DecantErrorOptions {
  /** A code of docs/errors.md; by default the kind. */
  code?: ErrorCode | undefined;
  /** The subject of the error. */
  fields?: Fields | undefined;
  /** The error that caused this one. */
  cause?: unknown;
}

/**
 * A failure: a kind, a code and fields for programs, and one sentence that a person can act on. The message has at most
 * 1,000 characters; names and other text in it are escaped.
 */
export class DecantError extends Error {
  /** Used by `DecantError.is`. For a cancelled call, the name of its signal's reason. */
  override readonly name: FailureName;
  /** The exact failure: a code of docs/errors.md, or the kind. */
  readonly code: ErrorCode;
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
    this.name = (kind === 'cancelled' && nameOfAbort(options.cause)) || 'DecantError';
    this.code = code;
    this.fields = fields;
  }

  /**
   * Whether `value` is a failure of Decant: an error of this or another copy of the package, or the result of `toJSON`, which
   * has no `cause`. TypeScript narrows a `DecantError` to itself, and any other value to a `Failure`.
   */
  static is<T>(
    value: T,
  ): value is T & (Extract<T, DecantError> extends never ? Failure & { readonly cause?: unknown } : DecantError) {
    if (!isObject(value)) return false;
    try {
      const { name, kind, message } = value as Partial<Record<keyof Failure, unknown>>;
      const isNamed = NAMES.some((one) => one === name);
      return isNamed && typeof kind === 'string' && typeof message === 'string';
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
  /** Used by `DecantError.is`. */
  readonly name: FailureName;
  /** The kind of the failure. */
  readonly kind: ErrorKind;
  /** The exact failure: a code of docs/errors.md, or the kind. */
  readonly code: ErrorCode;
  /** The subject of the error. */
  readonly fields: Fields;
  /** One sentence that a person can act on. */
  readonly message: string;
}
