// The public types that only Node has.

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

/** A `Readable` of Node: of a file, an `http.IncomingMessage`, a process. */
export interface NodeReadable {
  /** Sends the bytes to another stream. */
  pipe(...args: never[]): unknown;
  /** Ends the stream. */
  destroy(error?: Error): unknown;
  /** The bytes, one chunk after the other. */
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
}

/** A `FileHandle` of Node. */
export interface NodeFileHandle {
  /** The number of the descriptor. */
  readonly fd: number;
  /** Reads the file. */
  readFile(...args: never[]): Promise<unknown>;
}

/**
 * A source of an image. A string is a path, or the URL of a file on a server if it begins with `http://` or `https://`: see
 * `httpSource`. A `URL` names a file or a server. The file of a `FileHandle` is opened again, so the handle may be closed; this
 * does not work on Windows. Bytes in an array must not change until the image is closed.
 *
 * A stream, a `Readable` or a named pipe is read once, in order, and cancelled when the image is closed. It contains a raw
 * disk, which `inputFormat` must state, or a raw disk in gzip, xz, zstd, bzip2, lz4 or tar; anything else is unpacked (`spool`) or refused after its first bytes. It can be
 * converted once.
 */
export type Input =
  | string
  | URL
  | Blob
  | Uint8Array
  | ArrayBuffer
  | Source
  | ReadableStream<Uint8Array>
  | NodeReadable
  | NodeFileHandle;

/** Where a conversion writes to. */
export type Output =
  /** A path or file URL. The file appears when it is complete. A block device is written in place. */
  | string
  | URL
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
   * A file that is passed twice counts once.
   */
  companions?: readonly Companion[] | undefined;
  /**
   * Unpacks the image to a temporary file, if its format must be read at any position, but its bytes come in order: out of a
   * file compressed by gzip, xz, zstd, bzip2 or lz4, or out of a stream. The folder of the file is a path or file URL; `true` chooses
   * `TMPDIR`, otherwise `/var/tmp`. By default such an image is read in place, if the compressed file consists of parts that can be
   * found and decoded independently, or if it is a local file with little content; otherwise it is refused as `unsupported`, code
   * `needs-spool`, with the `size` of the unpacked file if that is known. Fails with `spool-full` if the file has no room. The
   * file is removed when the image is closed; that of a killed process is removed by the next conversion to the folder.
   */
  spool?: boolean | string | URL | undefined;
}

/** How to convert an image. */
export interface ConvertOptions<Format extends OutputFormatName = OutputFormatName>
  extends CommonConvertOptions<Format> {
  /**
   * Makes the output complete in a temporary file, and then sends it to a target that takes bytes in ascending order only: the
   * alternative to `twoPass`. The folder of the file is a path or file URL; `true` chooses `TMPDIR`, otherwise `/var/tmp`. The
   * target is opened after that: it learns the size of every output. With a streamed image it also stores the disk of a stream, if
   * its size is needed first. Refused with `usage` for any other target unless the image is streamed, and together with `twoPass` or `resume`. Fails with `spool-full` if the file has no room: before anything is read if the size of the output is
   * known. The file is removed at the end; that of a killed process is removed by the next conversion to the folder. By default
   * false.
   */
  spool?: boolean | string | URL | undefined;
  /**
   * Flushes the file and its folder (fsync) before `convert` resolves. A block device is always flushed. Refused with `usage` for
   * a stream or custom target.
   */
  sync?: boolean | undefined;
  /**
   * Makes a bmap of a raw output: `ConvertResult.bmap`, the text of a file for `bmaptool copy`, which then copies only the blocks with data to a device.
   * Blocks have data if `map` lists them as data, or if they were rewritten; in a streamed image, all do. The output is read again.
   * Refused with `usage` for another `format`, and for a stream or custom target.
   */
  bmap?: boolean | undefined;
  /**
   * `false` allocates the whole file, without holes: by `fallocate` of util-linux, or else by writing zeros. The default for a
   * place that refuses sparse files (`for`). Streams, and targets without `hole`, always get zeros.
   */
  sparse?: boolean | undefined;
  /**
   * `true` writes into the existing file `output`, in place, as into a block device. The size of the output must be known, and
   * the file at least as large. Bytes after the output stay; after a failure the file contains a part of the output. Refused
   * with `usage` for a stream or custom target.
   */
  existing?: boolean | undefined;
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

/** A kind of target, and whether it is available. */
export interface TargetKind {
  /** A path, a `WritableStream`, or a `Target`. */
  readonly name: 'path' | 'stream' | 'target';
  /** Why it is not available; never set in Node. */
  readonly refusal?: Refusal;
}

/** The members of a `Worker` of `node:worker_threads` that the package uses. */
export interface NodeWorker {
  /** Posts a message. */
  postMessage(message: unknown, transfer?: readonly unknown[]): void;
  /** Adds a listener. */
  // biome-ignore lint/suspicious/noExplicitAny: the listeners of each event take something else
  on(event: string, listener: (value: any) => void): unknown;
  /** Ends the worker. */
  terminate(): Promise<unknown>;
  /** Lets the worker keep the process alive. */
  ref(): void;
  /** Lets the process end before the worker. */
  unref(): void;
}

/** Where wasm is loaded from: a file, or a compiled module. */
export type WasmOrigin = URL | string | WebAssembly.Module;

/** Where the wasm of a codec is loaded from: a file, or its bytes. */
export type CodecOrigin = URL | string | Bytes;

/** How the package loads its workers and wasm: for a program that is bundled into one file, for example. */
export interface Configuration {
  /**
   * Makes a worker that runs the package's `worker.node.mjs`, as a module. By default it is loaded from beside the package's
   * code. In Node `engine` is always `workers`.
   */
  worker?: ((engine: Engine) => NodeWorker) | undefined;
  /** Returns the package's `decant.wasm`. By default it is loaded from beside the package's code. */
  wasm?: ((engine: Engine) => WasmOrigin | Promise<WasmOrigin>) | undefined;
  /**
   * Returns the wasm of a codec: the package's `bzip2.wasm`, `crypt.wasm`, `deflate.wasm`, `lz4.wasm`, `xz.wasm` or `zstd.wasm`. By default
   * it is loaded from beside the package's code, when an image or an output first needs it.
   */
  codec?: ((name: Codec) => CodecOrigin | Promise<CodecOrigin>) | undefined;
  /** Has no effect: Node has only the `workers` engine. */
  threads?: Threads | undefined;
}
