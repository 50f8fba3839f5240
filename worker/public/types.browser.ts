// The public types that only browsers have.

import type {
  Bytes,
  Codec,
  CommonConvertOptions,
  CommonImage,
  CommonOpenOptions,
  CommonStreamedImage,
  ConvertResult,
  Engine,
  OutputFormatName,
  Refusal,
  SavedProgress,
  Source,
  Target,
  Threads,
} from './types.js';

/**
 * A source of an image. A string or `URL` with `http` or `https` names a file on a server: see `httpSource`. With a handle,
 * Decant can detect for certain that an output is the image itself.
 *
 * A stream is read once, in order, and cancelled when the image is closed. It contains a raw disk, which `inputFormat` must state,
 * or a raw disk in gzip, xz, zstd, bzip2, lz4 or tar; anything else is unpacked (`spool`) or refused after its first bytes. It can be converted once.
 */
export type Input =
  | `http://${string}`
  | `https://${string}`
  | URL
  | Blob
  | Uint8Array
  | ArrayBuffer
  | FileSystemFileHandle
  | Source
  | ReadableStream<Uint8Array>;

/** Where a conversion writes to. */
export type Output =
  /**
   * A file that the user picked, or any other handle. Its content is replaced when the disk is complete. The file is never
   * removed. (The browser's save dialog empties a file as soon as it is picked.)
   */
  | FileSystemFileHandle
  /**
   * The file `name` in a folder that the user picked. It is replaced when the disk is complete. After a failure it is removed
   * only if it is new.
   */
  | { folder: FileSystemDirectoryHandle; name: string }
  /** A file of this name in the origin's private file system. It appears when it is complete. */
  | { opfs: string }
  /**
   * A download of this name. The output is first written to the private file system. That copy is removed when it expires:
   * `ConvertResult.copyExpires`.
   */
  | { download: string }
  /**
   * Gets the whole output in ascending order, holes as zeros, in chunks of at most 1 MiB, with backpressure. The stream may
   * keep the chunks. It is closed when the disk is complete, and otherwise aborted with the error.
   */
  | WritableStream<Bytes>
  | Target;

/**
 * A file that an image may refer to: a backing file, a parent, a data file or an extent. It is found by its own name, or by
 * `name` if given: the name in the image.
 */
export type Companion = Input | { name: string; source: Input };

/** How to open an image. */
export interface OpenOptions extends CommonOpenOptions {
  /**
   * The files that the image may refer to, and the other parts of a split file. No file is ever opened by a name in an image.
   * A file that is passed twice counts once: two `File` objects are two files, two handles of one entry are one.
   */
  companions?: readonly Companion[] | undefined;
  /**
   * Unpacks the image to a temporary file in the origin's private file system, if its format must be read at any position, but
   * its bytes come in order: out of a file compressed by gzip, xz, zstd, bzip2 or lz4, or out of a stream. By default such an image is
   * read in place, if the compressed file consists of parts that can be found and decoded independently, or if it is a `File` or
   * `Blob` with little content; otherwise it is refused as `unsupported`, code `needs-spool`, with the `size` of the unpacked file
   * if that is known. Fails with `spool-full` if the file has no room. The file is removed when the image is closed; that of a
   * closed tab is removed by the next conversion that stores files.
   */
  spool?: boolean | undefined;
}

/** How to convert an image. */
export interface ConvertOptions<Format extends OutputFormatName = OutputFormatName>
  extends CommonConvertOptions<Format> {
  /**
   * Makes the output complete in a temporary file in the origin's private file system, and then sends it to a target that takes
   * bytes in ascending order only: the alternative to `twoPass`. The target is opened after that: it learns the size of every
   * output. With a streamed image it also stores the disk of a stream, if its size is needed first. Refused with `usage` for any other target unless the image is streamed, and together with `twoPass` or `resume`. Fails with `spool-full` if the file
   * has no room: before anything is read if the size of the output is known. The file is removed at the end; that of a closed tab
   * is removed by the next conversion that stores files. By default false.
   */
  spool?: boolean | undefined;
}

/** An image that can be converted. */
export interface Convertible {
  /** Writes the disk to `output`. If it rejects, nothing is left that looks complete. */
  convert<Format extends OutputFormatName = OutputFormatName>(
    output: Output,
    options?: ConvertOptions<Format>,
  ): Promise<ConvertResult>;
  /**
   * Returns the saved progress that `convert` to `output` would continue, with `resume` and the same options. Resolves to
   * `undefined` if it could not be resumed, or if only a custom target knows.
   */
  savedProgress<Format extends OutputFormatName = OutputFormatName>(
    output: Output,
    options?: ConvertOptions<Format>,
  ): Promise<SavedProgress | undefined>;
}

/** An image that can be read at any position. */
export interface DiskImage extends CommonImage, Convertible {}

/**
 * An image whose bytes come only in order: a raw disk in gzip, xz, zstd, bzip2 or lz4, or in a stream. It can be converted, digested and, with
 * `spool`, compared; an image from a stream only once.
 */
export interface StreamedImage extends CommonStreamedImage, Convertible {}

/** An opened image of either kind: `streamed` says which. */
export type AnyImage = DiskImage | StreamedImage;

/** A part of a disk that a conversion with `resume` left in the browser's storage. */
export interface Leftover extends SavedProgress {
  /** Whether the output was a `{ download }` or `{ opfs }`. */
  readonly kind: 'download' | 'opfs';
  /** The name of the image, if it had one. */
  readonly image?: string;
  /** The bytes that it takes in the storage. */
  readonly size: number;
  /** The size of the disk in bytes, if it is known: `guestDone` of it are done. */
  readonly guestTotal?: number;
}

/** A kind of target, and whether this page can write to it. */
export interface TargetKind {
  /** A handle of a picker, `{ folder }`, `{ opfs }`, `{ download }`, a `WritableStream`, or a `Target`. */
  readonly name: 'file handle' | 'folder' | 'opfs' | 'download' | 'stream' | 'target';
  /** Why this page cannot write to it; missing if it can. */
  readonly refusal?: Refusal;
  /** With `size`, of `opfs` and `download`: whether the private file system has room for the file now. */
  readonly fits?: boolean;
  /** With `size`, of `download`: when the copy of such a file would expire if it were completed now. See `ConvertResult.copyExpires`. */
  readonly copyExpires?: Date;
}

/** The options of `targets`. */
export interface TargetsOptions {
  /** The size of an output in bytes: says whether it fits. Creates such a file and removes it, since browsers' estimates are not reliable. */
  size?: number | undefined;
}

/** Where wasm is loaded from. A `WebAssembly.Module` is used unchanged. */
export type WasmOrigin = URL | string | Response | WebAssembly.Module;

/** Where the wasm of a codec is loaded from, or its bytes. */
export type CodecOrigin = URL | string | Response | Bytes;

/** How the package loads its workers and wasm. */
export interface Configuration {
  /**
   * Makes a worker that runs the package's `worker.js`, or `worker.threads.js` for the engine `threads`, as a module script.
   * By default the script is loaded from beside the package's code.
   */
  worker?: ((engine: Engine) => Worker) | undefined;
  /**
   * Returns the package's `decant.wasm`, or `threads.wasm` for the engine `threads`. By default it is loaded from beside the
   * package's code.
   */
  wasm?: ((engine: Engine) => WasmOrigin | Promise<WasmOrigin>) | undefined;
  /**
   * Returns the wasm of a codec: the package's `bzip2.wasm`, `crypt.wasm`, `deflate.wasm`, `lz4.wasm`, `xz.wasm` or `zstd.wasm`. By default
   * it is loaded from beside the package's code, when an image or an output first needs it.
   */
  codec?: ((name: Codec) => CodecOrigin | Promise<CodecOrigin>) | undefined;
  /** Allows `engine: 'threads'`. */
  threads?: Threads | undefined;
}
