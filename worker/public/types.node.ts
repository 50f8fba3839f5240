// The public types that are those of Node alone.

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

/** A `Readable` of Node: of a file, an `http.IncomingMessage`, a process. */
export interface NodeReadable {
  /** Sends its bytes to another stream. */
  pipe(...args: never[]): unknown;
  /** Ends it. */
  destroy(error?: Error): unknown;
  /** Its bytes, a piece after the other. */
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
 * What an image can be read from. A string is a path, or the address of a file on a server: it begins with `http://` or
 * `https://`. A `URL` is one of a file, or such an address: see `httpSource`. The file of a `FileHandle` is opened once more, so
 * that the handle may be closed; Windows does not have that.
 *
 * A stream, a `Readable` or a named pipe is read once, in order, and cancelled when the image is closed. It has a raw disk, which `format` must state, or
 * a raw disk in gzip or tar; anything else is refused when its first bytes were seen. It can be converted once.
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

/** Where a conversion goes. */
export type Output =
  /** A path or file URL. The file appears when it is complete. A block device is written in place. */
  | string
  | URL
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
   * twice counts once.
   */
  companions?: Companion[];
}

/** How to convert an image. */
export interface ConvertOptions extends CommonConvertOptions {
  /** Resolves only after the file and its name are on the disk (fsync). A block device is always flushed. */
  sync?: boolean;
  /** `false` writes zeros instead of leaving holes in the file. Streams and targets get zeros in any case. */
  sparse?: boolean;
  /**
   * `true` writes into the file that `output` names, in place, as into a block device. It must be there and hold the output, whose
   * size must be known. What it has after the output stays; after a failure it has a part of the output.
   */
  existing?: boolean;
}

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

/** A kind of output, and whether it is there. */
export interface TargetKind {
  /** A path, a `WritableStream`, a `Target`. */
  name: 'path' | 'stream' | 'target';
  /** Why it is not there, as a sentence; in Node all are. */
  obstacle?: string;
  /** The reason for programs. */
  code?: string;
}

/** What the package uses of a `Worker` of `node:worker_threads`. */
export interface NodeWorker {
  /** Posts a message. */
  postMessage(message: unknown, transfer?: readonly unknown[]): void;
  /** Adds a listener. */
  // biome-ignore lint/suspicious/noExplicitAny: the listeners of each event take something else
  on(event: string, listener: (value: any) => void): unknown;
  /** Ends it. */
  terminate(): Promise<unknown>;
  /** Lets it keep the process alive. */
  ref(): void;
  /** Lets the process end without it. */
  unref(): void;
}

/** From where wasm is loaded: a file, or what was compiled. */
export type WasmOrigin = URL | string | WebAssembly.Module;

/** How the package gets its workers and wasm: for a program that is bundled into one file, for instance. */
export interface Configuration {
  /**
   * Makes a worker that runs the package's `worker.node.mjs`, as a module. By default it is loaded from beside the package's
   * code. In Node `engine` is always `workers`.
   */
  worker?: (engine: Engine) => NodeWorker;
  /** Returns the package's `decant.wasm`. By default it is loaded from beside the package's code. */
  wasm?: (engine: Engine) => WasmOrigin | Promise<WasmOrigin>;
  /** Is of no effect: Node has the `workers` engine only. */
  threads?: Threads;
}
