// The public types that are those of browsers alone.

import type {
  Bytes,
  CommonConvertOptions,
  CommonImage,
  CommonOpenOptions,
  Engine,
  Kept,
  Result,
  Source,
  Target,
  Threads,
} from './types.js';

/**
 * What an image can be read from. An address of `http` or `https`, or a `URL`, is of a file on a server: see
 * `httpSource`. With a handle, Decant can tell for certain whether an output is the image itself.
 *
 * A stream is read once, in order, and cancelled when the image is closed. It has a raw disk, which `format` must state, or
 * a raw disk in gzip or tar; anything else is refused when its first bytes were seen. It can be converted once.
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

/** Where a conversion goes. */
export type Output =
  /**
   * A file that the user has picked, or any other handle. Its content is replaced when the disk is complete. The file
   * is never removed. (The browser's save dialog empties a file as soon as it is picked.)
   */
  | FileSystemFileHandle
  /**
   * The file `name` in a folder that the user has picked. It is replaced when the disk is complete. After a failure it
   * is removed only if it is new.
   */
  | { folder: FileSystemDirectoryHandle; name: string }
  /** A file of this name in the origin's private file system. It appears when it is complete. */
  | { opfs: string }
  /**
   * A download of this name. The output is first written to the private file system. That copy is removed after the
   * time that `copyLifetime` returns.
   */
  | { download: string }
  /**
   * Gets the whole output in ascending order, with holes as zeros, in chunks of at most 1 MiB, and no faster than it
   * takes them. The chunks are the stream's own. It is closed when the disk is complete, and otherwise aborted with
   * the error.
   */
  | WritableStream<Bytes>
  | Target;

/**
 * A file that an image may refer to: a backing file, a parent, a data file or an extent. It is found by its own name.
 * If `name` is given, it is found by that: the name that stands in the image.
 */
export type Companion = Input | { name: string; source: Input };

/** How to open an image. */
export interface OpenOptions extends CommonOpenOptions {
  /**
   * The files that the image may refer to. No file is ever opened by a name that stands in an image. A file that is given
   * twice counts once: two `File` objects are two files, two handles of one entry are one.
   */
  companions?: Companion[];
}

/** How to convert an image. */
export type ConvertOptions = CommonConvertOptions;

/** An opened image. */
export interface Image extends CommonImage {
  /** Writes the disk to `output`. Nothing that looks complete is left where it rejects. */
  convert(output: Output, options?: ConvertOptions): Promise<Result>;
  /**
   * What `convert` to `output` would go on with, if it is called with `resume` and the same options. Resolves to `undefined`
   * where it could not be resumed, or where only a target of the caller's own knows.
   */
  kept(output: Output, options?: ConvertOptions): Promise<Kept | undefined>;
}

/** A kind of output, and whether this page has it. */
export interface TargetKind {
  /** A handle of a picker, `{ folder }`, `{ opfs }`, `{ download }`, a `WritableStream`, a `Target`. */
  name: 'file handle' | 'folder' | 'opfs' | 'download' | 'stream' | 'target';
  /** Why this page cannot convert to it, as a sentence; missing where it can. */
  obstacle?: string;
  /** The reason for programs: a code of docs/errors.md. */
  code?: string;
}

/** From where wasm is loaded. A `WebAssembly.Module` is used as it is. */
export type WasmOrigin = URL | string | Response | WebAssembly.Module;

/** How the package gets its workers and wasm. */
export interface Configuration {
  /**
   * Makes a worker that runs the package's `worker.js`, or `worker.threads.js` for the engine `threads`, as a module script.
   * By default the script is loaded from beside the package's code.
   */
  worker?: (engine: Engine) => Worker;
  /**
   * Returns the package's `decant.wasm`, or `threads.wasm` for the engine `threads`. By default it is loaded from beside the
   * package's code.
   */
  wasm?: (engine: Engine) => WasmOrigin | Promise<WasmOrigin>;
  /** Allows `engine: 'threads'`. */
  threads?: Threads;
}
