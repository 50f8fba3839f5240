// The public types. All sizes and offsets are in bytes.

import type { ErrorKind, Fields } from '../errors/errors.js';
import type { RequestLimit } from '../http/host.js';
import type { Fetch, HttpOptions, Waiting } from '../http/types.js';
import type { Bytes, Network } from './types.contracts.js';

export type * from './types.contracts.js';

/** How to open an image, but for its companions. */
export interface CommonOpenOptions extends PrepareOptions {
  /** The name of the format. By default it is recognised by content. A raw disk is never recognised: say `raw`. */
  format?: string;
  /** The name of the image, for messages. By default that of the `File`, path or source. */
  name?: string;
  /** The ID or name of the internal snapshot to read instead of the active disk. An ID is looked for first. */
  snapshot?: string;
  /**
   * The password of the encrypted layers: one for all, or a function that returns the password of one layer. A string
   * stands for its UTF-8 bytes. An array is copied, so the caller may wipe it.
   *
   * A function is called when keys are first needed, for one encrypted layer after the other, the image first. `layer`
   * is as `info.layers` lists it. The next layer is asked for after the password of the one before was found right, so
   * an error of kind `password` is about the layer of the last call. The next attempt asks for that layer again. If
   * the function returns `undefined` or throws, the attempt fails with kind `password`; what was thrown is the
   * `cause`. A call of the image that needs the keys waits for the function, so the function must not wait for one.
   */
  password?:
    | string
    | Uint8Array
    | ((layer: Layer) => string | Uint8Array | undefined | Promise<string | Uint8Array | undefined>);
  /**
   * Accepts any password for the old AES method, which has no check. By default the password is refused unless the disk
   * then holds something known, such as a partition table.
   */
  assumePassword?: boolean;
  /**
   * Reads what is left of a damaged image. What cannot be read becomes zeros, and is listed. Refused as `unsupported` for a
   * disk that comes in order out of a container, as of gzip.
   */
  salvage?: boolean;
  /**
   * Whether a conversion compares the files of an OVA with its manifest (`.mf`), beside its other work and before the output
   * is complete. A file that differs fails it as `corrupt` (`manifest-mismatch`). By default they are compared in files of
   * this system, unless they are salvaged. Where they are not, the result has the notice `manifest-unchecked`: on a server,
   * comparing means to read the whole archive.
   */
  checkManifest?: boolean;
  /** Cancels the opening. */
  signal?: AbortSignal;
  /** For addresses: see `HttpOptions`. It is called as long as the image is open. */
  onWaiting?: (waiting: Waiting | undefined) => void;
  /**
   * For an image that is an address: see `HttpOptions`. Companions that are addresses of the same origin get them too; those of
   * other origins take `httpSource`.
   */
  headers?: HttpOptions['headers'];
  /** For addresses, of companions too: see `HttpOptions`. */
  fetch?: Fetch;
  /** For addresses, of companions too: see `HttpOptions`. */
  allowUrl?: (url: URL, where: { addresses: string[] }) => boolean | Promise<boolean>;
  /** For addresses, of companions too: see `HttpOptions`. */
  limit?: RequestLimit;
}

/** How to unlock an image. */
export interface UnlockOptions {
  /** Cancels the unlocking. */
  signal?: AbortSignal;
  /** Called with a lower bound on the share of the work that is done: 0 to 1. */
  onProgress?: (share: number) => void;
}

/** Something that an image is packed in. */
export interface ContainerInfo {
  /** `gzip` or `tar`. */
  name: string;
  /** The name of the member that is the image, if members have names. */
  member?: string;
}

/** What the headers of an image say. Names are as they stand in the image, unchanged: show them by `shownText`. */
export interface Info {
  /** The name of the format, as `qemu-img -f` has it. */
  format: string;
  /** The name of the image, if it has one. */
  name?: string;
  /** What the image is packed in, the outermost container first. */
  containers: ContainerInfo[];
  /**
   * The size of the disk that the guest sees; missing if it is known only at the end of the disk: of one in gzip, and of a
   * stream. Such an image can be converted, and nothing else.
   */
  virtualSize?: number;
  /** The size of the image's file, or of the member of a container that is the image; missing for a stream. */
  fileSize?: number;
  /** The unit of allocation: a cluster, grain or block. */
  clusterSize?: number;
  /** The version of the format. */
  version?: number;
  /** The compression method, if data is compressed. */
  compression?: string;
  /** The names of the feature bits that are set. */
  features: string[];
  /** The internal snapshots, in the order of the image's table. */
  snapshots: Snapshot[];
  /** The other files that the image names. */
  references: Reference[];
  /** How children may identify this image as their parent, in formats that record it. */
  identities: Identity[];
  /** How the image is encrypted, if it is. */
  encryption?: { format: 'luks' | 'aes'; luks?: Luks };
  /** Properties that only this format has, as `qemu-img info --output=json` has them under `format-specific`. */
  specific: Record<string, unknown>;
  /** The image and the layers below it, as far as they were handed over. */
  layers: Layer[];
  /** What a conversion still needs; empty if nothing is missing. */
  needs: Need[];
  /** The names of companions that nothing refers to. */
  unusedCompanions: string[];
  /** What a person should know before an image of unknown origin is converted. */
  safety: Notice[];
}

/** The role of a file that an image refers to. A backing file, or a parent, is the layer below. */
export type Role = 'backing file' | 'parent' | 'data file' | 'extent';

/** A file that an image names. */
export interface Reference {
  /** What the file is to the image. */
  role: Role;
  /** The name that stands in the image. If there is none, the ID of the disk. */
  name: string;
  /** What the file is called: the last part of the path that is named, also in an address or in JSON. */
  fileName: string;
  /** The format that the image states for the file. */
  format?: string;
  /** The identity that a parent must have, in formats that record it. A parent without a name is found by it. */
  identity?: Identity;
}

/** What tells one disk from another: UUIDs or content IDs. */
export interface Identity {
  /** The ID of the disk. */
  id: string;
  /** The ID of the state of its content, in formats that record it separately. */
  state?: string;
}

/** One image of a chain. */
export interface Layer {
  /** The name of its file. */
  name: string;
  /** The name of its format. */
  format: string;
  /** Whether the format was guessed to be raw: no image states it, and the content is not recognised. */
  guessed: boolean;
  /** The size of its disk. */
  virtualSize: number;
  /** The encryption method, if the layer is encrypted. */
  encryption?: 'luks' | 'aes';
}

/**
 * A file, or a password, that a conversion still needs. `name` and `fileName` are those of the `Reference`, and `of` is the
 * name of the layer that needs it.
 */
export type Need =
  | { kind: 'missing-file'; role: Role; name: string; fileName: string; of: string }
  | { kind: 'password'; of: string };

/** Something that a person should know: a code and fields for programs, and a sentence. */
export interface Notice {
  /** A code of docs/errors.md. It stays the same when the sentence changes. */
  code: string;
  /** The subject of the notice; empty where the code has no fields. */
  fields: Fields;
  /** One sentence for people, without a full stop at its end. Names in it are escaped. */
  message: string;
}

/** What a LUKS header says. Offsets are relative to its start. */
export interface Luks {
  /** The cipher, as the header has it. */
  cipher: string;
  /** The mode of the cipher. */
  mode: string;
  /** How the initialisation vectors are made. */
  iv: string;
  /** The hash that makes them, if there is one. */
  ivHash?: string;
  /** The hash that derives keys from passwords. */
  hash: string;
  /** The UUID of the header. */
  uuid: string;
  /** Where the encrypted data begins. */
  payloadOffset: number;
  /** The iterations of the digest of the master key. */
  masterKeyIterations: number;
  /** The key slots. */
  slots: { active: boolean; iterations: number; keyOffset: number; stripes: number }[];
}

/** An internal snapshot. */
export interface Snapshot {
  /** Its ID, unique among those of the image. */
  id: string;
  /** Its name. */
  name: string;
  /** When it was made, in seconds since 1970. */
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

/** A range of the disk that the guest sees. */
export interface Extent {
  /** The guest offset. */
  start: number;
  /** How many bytes it has. */
  length: number;
  /** `lost` occurs only if the image was opened with `salvage`. */
  kind: 'data' | 'zero' | 'unallocated' | 'lost';
  /** The number of the layer that it comes from: 0 is the image, 1 the layer below it, and so on. */
  depth: number;
  /** Whether its bytes are stored compressed. */
  compressed: boolean;
  /** Whether its bytes are stored encrypted. */
  encrypted: boolean;
  /** The name of the file that holds the bytes; only for data that is neither compressed nor encrypted. */
  file?: string;
  /** The host offset: where in `file` the bytes begin. */
  offset?: number;
  /** Why it is lost, for programs: a code of docs/errors.md. */
  code?: string;
  /** Why it is lost. */
  reason?: string;
}

/** How to list a map. */
export interface MapOptions {
  /** Cancels the pass. */
  signal?: AbortSignal;
}

/** How to examine an image. */
export interface VerdictOptions {
  /** Reads all tables of the image. By default at most 1 MiB of its files is read. */
  deep?: boolean;
  /** Cancels the examination. */
  signal?: AbortSignal;
}

/** What a program should know before it takes an image. */
export interface Verdict {
  /** Whether no finding has the severity `error`. */
  accept: boolean;
  /** Errors first, then warnings, then notes. */
  findings: Finding[];
}

/** One thing that an examination has found. */
export interface Finding {
  /** A code of docs/errors.md. */
  code: string;
  /**
   * `error`: a conversion fails now, or its disk is not whole. `warning`: the image may be read wrongly, or may have been made
   * to harm. `note`: anything else.
   */
  severity: 'error' | 'warning' | 'note';
  /** The subject of the sentence: the fields of the code. */
  params: Fields;
  /** One sentence for people, without a full stop at its end. Names in it are escaped. */
  message: string;
}

/** How to read a part of the disk. */
export interface ReadOptions {
  /** Cancels the reading. */
  signal?: AbortSignal;
}

/** A range of the disk. */
export interface ReadableOptions {
  /** The offset of the first byte; by default 0. */
  start?: number;
  /** The offset behind the last byte; by default the virtual size. */
  end?: number;
  /** Cancels the reading. */
  signal?: AbortSignal;
}

/** A range of the disk that could not be read. Its bytes are zeros in the output. */
export interface LostRange {
  /** The guest offset. */
  start: number;
  /** How many bytes it has. */
  length: number;
  /** Why it is lost, for programs: a code of docs/errors.md. */
  code: string;
  /** Why it is lost. */
  reason: string;
}

/** What runs a conversion: workers with a memory each, or threads that share one memory. */
export type Engine = 'threads' | 'workers';

/** The phases of a conversion, in their order. `unlocking` occurs only if keys are needed that are not known yet. */
export type Phase = 'unlocking' | 'preparing' | 'converting' | 'finalizing';

/** How far a conversion is. */
export interface Progress {
  /** What is being done. */
  phase: Phase;
  /**
   * How much of this phase is done: 0 to 1, as for a bar. While converting: of the disk, holes included, or of the image's
   * file if `guestTotal` is missing. While unlocking: a lower bound. Missing where it cannot be known: while preparing and
   * finalizing, and for a stream without a size.
   */
  fraction?: number;
  /** A lower bound on the share of the unlocking that is done: 0 to 1. */
  unlocked: number;
  /** How many bytes of the disk are done, holes included. */
  guestDone: number;
  /** The virtual size; missing if it is known only at the end. */
  guestTotal?: number;
  /**
   * The disk in at most 4,096 parts of the same length, the last one perhaps shorter: 1 for a part that is done, else 0.
   * Missing if the size is known only at the end.
   */
  cells?: Uint8Array;
  /** The part of `guestDone` that `map` lists as data. This is what takes the time. */
  dataDone: number;
  /**
   * How many bytes of data were read from the image and its companions. If `guestTotal` is missing: how many bytes of the
   * image's file were read, `Info.fileSize` at the end.
   */
  bytesRead: number;
  /** How many bytes were written to the output. */
  bytesWritten: number;
  /** What has gone over networks, since images and target were opened; missing where none of them is behind one. */
  network?: Network;
  /** The server that is waited for, where its requests have failed for 5 seconds; otherwise missing. */
  waiting?: Waiting;
  /** The recent speed: bytes of the disk per second. */
  bytesPerSecond: number;
  /** Missing at the start, and while the output is finalized. */
  secondsLeft?: number;
}

/** What runs a conversion. */
export interface PrepareOptions {
  /** By default `auto`: the engine that is the fastest here. */
  engine?: Engine | 'auto';
  /** How many workers or threads decode: 1 to 64. By default one for each core, at most 8. */
  workers?: number;
}

/** A format that the disk of an image can be converted to. */
export interface OutputFormat {
  /** The name, as `qemu-img -O` has it. */
  name: string;
  /** The name that people know. */
  label: string;
  /** Its purpose in a few words: "For Azure". */
  hint?: string;
  /** The extension of its files, with the dot. */
  extension: string;
  /** Its options, by the names that `qemu-img` has for them. The first value is the default. */
  options: { name: string; values: string[] }[];
  /** Whether the data is compressed. That takes longer than writing it as it is. */
  compressed: boolean;
  /** Whether readers look for a footer at the end of the file: nothing may follow the output. */
  hasFooter: boolean;
  /** The size of the output, if it is known before the conversion. */
  size?: number;
  /** How the disk in the output differs from the image's: it may be larger, for instance. */
  notices: Notice[];
  /** Why this disk cannot be converted to the format. */
  refusal?: { kind: ErrorKind; code: string; fields: Fields; message: string };
}

/** How to convert an image. */
export interface CommonConvertOptions {
  /** The name of one of `Image.formats`; by default `raw`. */
  format?: string;
  /** The values of options of the format, by name. */
  formatOptions?: Record<string, string>;
  /**
   * Upper bound, in bytes, on the memory of all buffers: 32 MiB to 2 GiB. By default 48 MiB for each worker, in Node
   * 16, and 32 MiB more where a source has `expect`.
   */
  memory?: number;
  /**
   * Keeps what is done where the conversion ends early, and goes on from there when it is made once more with `resume`: the
   * same disk to the same output. For outputs that are not compressed, and images that tell their states (files, and what is
   * on most servers). The output is a path in Node, `{ opfs }` or `{ download }` in a browser, or a target that `resumes`. Else
   * it is refused with `usage`. What is kept is removed after a week, and, but for a download, when the output is made
   * without `resume`.
   */
  resume?: boolean;
  /** Cancels the conversion. */
  signal?: AbortSignal;
  /** Called at most 10 times a second, and after the last change. If it throws, the conversion fails. */
  onProgress?: (progress: Progress) => void;
}

/** What an earlier conversion has left, which one with `resume` goes on with. */
export interface Kept {
  /** How many bytes of the disk are done; 0 where nothing is kept. */
  readonly guestDone: number;
  /** Removes what is kept. */
  discard(): Promise<void>;
}

/** What a conversion has done. */
export interface Result {
  /** The virtual size of the image. The disk in the output is larger in some formats: see `notices`. */
  virtualSize: number;
  /** The size of the output, holes included. */
  outputSize: number;
  /**
   * How many bytes of data were read from the image and its companions. If `guestTotal` is missing: how many bytes of the
   * image's file were read, `Info.fileSize` at the end.
   */
  bytesRead: number;
  /** How many bytes were written to the output. */
  bytesWritten: number;
  /** How many bytes of the output are holes. */
  holeBytes: number;
  /** What a person should know of this result: docs/errors.md lists the codes. */
  notices: Notice[];
  /**
   * Whether a change of the image meanwhile would have been noticed. `false` for an image on a server that says too little
   * of it, or lets the page see too little, and for a source that has `unnoticed`.
   */
  verified: boolean;
  /**
   * Whether the output is known to be complete where it went. `false` only for an upload whose server cannot be asked for the
   * finished object; a notice `unconfirmed` says why.
   */
  confirmed: boolean;
  /**
   * Salvage: the ranges of the disk that could not be read, and are zeros in the output. The first 10,000, in ascending
   * order. Adjacent ranges that are lost for the same reason are one range.
   */
  lost: LostRange[];
  /** The number of lost ranges, listed or not. */
  lostRanges: number;
  /** The number of lost bytes. If it is not 0, the output is damaged. */
  lostBytes: number;
  /** The names of companions that nothing refers to. */
  unusedCompanions: string[];
  /** The engine that ran. */
  engine: Engine;
  /** Why this engine ran, in a few words. */
  engineReason: string;
  /** How many workers or threads have decoded. */
  workers: number;
  /** The milliseconds spent in each phase. */
  time: Record<Phase, number>;
}

/** An opened image. Its methods may be called without it, and through proxies. */
export interface CommonImage {
  /** What the headers say, and what a conversion still needs. */
  readonly info: Info;
  /** What the disk can be converted to, the default first, and why not where it cannot. */
  readonly formats: OutputFormat[];
  /**
   * Starts what converts this image, so that a conversion begins at once. It need not be called; what is not used within 10
   * seconds ends again.
   */
  prepare(): Promise<void>;
  /**
   * Finds the keys of an encrypted image now, instead of when they are first needed. Does nothing where there is nothing to
   * unlock, or no password.
   */
  unlock(options?: UnlockOptions): Promise<void>;
  /** Lists what lies where on the disk, in order and without gaps. Every call is a pass of its own. */
  map(options?: MapOptions): AsyncGenerator<Extent, void, void>;
  /**
   * Examines the image before it is taken: what it needs, what `info.safety` lists, and whether its tables are whole. Without
   * `deep` it reads at most 1 MiB, and the finding `unchecked` says how far that went. Nothing is unlocked.
   */
  verdict(options?: VerdictOptions): Promise<Verdict>;
  /**
   * The `length` bytes of the disk from `offset` on, as the guest reads them. They are held in memory: for more than a few
   * MiB there is `readable`. Any number may be asked for at once. What is damaged is zeros where the image was opened with
   * `salvage`, and fails with `corrupt` otherwise; a range that does not lie on the disk is `usage`.
   */
  read(offset: number, length: number, options?: ReadOptions): Promise<Bytes>;
  /**
   * The bytes of the disk from `start` (0) to before `end` (the virtual size), in pieces of at most 4 MiB, as fast as they
   * are taken. It fails as `read` does, and at its end where the file was changed meanwhile; when it is cancelled, nothing is
   * read any more.
   */
  readable(options?: ReadableOptions): ReadableStream<Bytes>;
  /** Ends what is under way with this image and frees what it holds. */
  close(): Promise<void>;
  /** As `close`: for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The `threads` engine: `threads` of `decant/threads`, for `configure`. */
export interface Threads {
  /** Makes a worker that runs `worker.threads.js`. */
  worker(): unknown;
  /** Where `threads.wasm` is. */
  wasm(): URL;
}
