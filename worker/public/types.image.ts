// The public types of an opened image. All sizes and offsets are in bytes.

import type { ImageFormat, OutputFormatName } from '../errors/names.js';
import type { AddressOptions, HttpOptions } from '../http/http-types.js';
import type { Bytes } from './types.contracts.js';
import type {
  DiskDigest,
  DiskRange,
  EngineOptions,
  FormatChoice,
  LostRange,
  OutputFormat,
  Progress,
  TreeDigest,
} from './types.conversion.js';
import type { CheckResult, DiskMember, Extent, Info, Layer, Notice, StreamedInfo } from './types.info.js';
import type { ImagePlace } from './types.places.js';

/** How to open an image, except for its companions. */
export interface CommonOpenOptions extends EngineOptions, AddressOptions {
  /** The name of the image's format. By default it is recognised by content. A raw disk is never recognised: pass `raw`. */
  inputFormat?: ImageFormat | undefined;
  /** The name of the image for messages. By default that of the `File`, path or source. */
  name?: string | undefined;
  /**
   * The disk to open, of the several in an archive such as an OVA or of a virtual machine: its number in `image.disks`, from
   * 1, or its name there; the last part of the name is enough if only one disk has it. If there are several and none is
   * chosen, the call fails with `usage`, code `several-images`, and lists them in `fields.disks`. Fails with `usage`, code
   * `no-such-disk`, if the archive has no such disk, or if the image is not in a zip or tar archive that is read at any
   * position, such as one that was unpacked.
   */
  disk?: string | number | undefined;
  /**
   * The ID or name of the internal snapshot to read instead of the active disk, or of a snapshot of the virtual machine. IDs are
   * searched first.
   */
  snapshot?: string | undefined;
  /**
   * The password of the encrypted layers: one for all, or a function that returns the password of one layer. A string
   * stands for its UTF-8 bytes. An array is copied, so the caller may wipe it.
   *
   * A function is called when keys are first needed, for one encrypted layer after the other, the image first. `layer`
   * is as in `info.layers`. It is called for the next layer after the password of the one before was found right, so an
   * error of kind `password` is about the layer of the last call. The next attempt starts with that layer. If the function
   * returns `undefined` or throws, the attempt fails with kind `password`, and the thrown value is the `cause`. Calls of the
   * image that need the keys wait for the function, so the function must not wait for one of them.
   */
  password?:
    | string
    | Uint8Array
    | ((layer: Layer) => string | Uint8Array | undefined | Promise<string | Uint8Array | undefined>)
    | undefined;
  /**
   * Accepts any password for the old AES method, which has no check. By default a password is refused unless the decrypted
   * disk begins with something known, such as a partition table.
   */
  assumePassword?: boolean | undefined;
  /**
   * Reads as much as possible of a damaged image. Unreadable ranges become zeros, and are listed. Refused as `unsupported`
   * for a streamed image.
   */
  salvage?: boolean | undefined;
  /**
   * Reads a parent although its identity is not the one that its child records (`wrong-parent`), or although a VHDX records none
   * (`parent-unverifiable`). `info.safety` and the result have a notice then, with both identities. The disk is wrong if the
   * parent is another one, or was changed since the child was created.
   */
  forceParent?: boolean | undefined;
  /**
   * Whether a conversion compares files with the manifest (`.mf`) of their OVA, or with one among the `companions`, before the output is
   * complete. A file that differs fails it as `corrupt` (`manifest-mismatch`). By default files of this system are compared, unless they
   * are salvaged, or read in place from a compressed file in several blocks. If they are not compared, the result has the notice
   * `manifest-unchecked`: comparing means reading all of the archive.
   */
  checkManifest?: boolean | undefined;
  /**
   * With the input format `raw`: reads the content of the file's containers, such as gzip and tar, as the disk. Otherwise the
   * bytes of the file itself are the disk, and `info.safety` has the notice `packed-as-raw` if they are something else. Fails with
   * `usage` without that format, and with `nothing-to-unpack` for a file in no container.
   */
  unpack?: boolean | undefined;
  /**
   * Called while the image is unpacked to the temporary file of `spool` (see `CommonConvertOptions`), and before, in the phase
   * `measuring`, while parts of unknown size of a compressed file are decoded to read it in place.
   */
  onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * For an image that is a URL: see `HttpOptions`. Companions with URLs of the same origin get them too; use `httpSource` for
   * those of other origins.
   */
  headers?: HttpOptions['headers'];
}

/** How to unlock an image. */
export interface UnlockOptions {
  /** Cancels the unlocking. */
  signal?: AbortSignal | undefined;
  /** Called while keys are derived: `fraction` is a lower bound. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** How to list a map. */
export interface MapOptions {
  /** Cancels the pass. */
  signal?: AbortSignal | undefined;
}

/** How to check an image. */
export interface CheckOptions {
  /** Reads all tables of the image, and checks its file. By default at most 1 MiB of its files is read. */
  deep?: boolean | undefined;
  /** Cancels the check. */
  signal?: AbortSignal | undefined;
  /** Called while the image is checked, which takes long only with `deep`. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** How to compute the digest of a disk. */
export interface DigestOptions {
  /**
   * Computes the digest of fs-verity instead of the SHA-256. Workers hash the data, and zeros cost nothing: a SHA-256 of a large, mostly
   * empty disk takes minutes, this digest takes as long as reading the data.
   */
  tree?: boolean | undefined;
  /** Cancels the digest. */
  signal?: AbortSignal | undefined;
  /** Called as in a conversion. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The output whose size is measured. */
export interface MeasureOptions<Format extends OutputFormatName = OutputFormatName> extends FormatChoice<Format> {
  /** The size of the disk in bytes, as in a conversion; by default that of the image. */
  size?: number | undefined;
  /** Cancels the measurement. */
  signal?: AbortSignal | undefined;
}

/**
 * The sizes of an output in bytes, as `qemu-img measure` computes them for raw and qcow2. They are exact for the other formats
 * without compression, apart from zeros in the data of the image, which a conversion leaves out; where an output is
 * compressed, they are upper bounds.
 */
export interface MeasureResult {
  /** The size with the data that the image has. */
  readonly required: number;
  /** The size if the disk had data everywhere. */
  readonly fullyAllocated: number;
}

/** How to compare the disk with that of another image. */
export interface CompareOptions {
  /** Also compares sizes, and how ranges are allocated and stored, as `qemu-img compare -s` does. */
  strict?: boolean | undefined;
  /** Ends the comparison at the first difference: the counts of the result are those up to there. */
  firstOnly?: boolean | undefined;
  /** Called with the ranges of bytes that differ, ascending and disjoint, some at a time. */
  onRanges?: ((ranges: readonly DiskRange[]) => void) | undefined;
  /**
   * Stores the disk of a streamed image in a temporary file, as for `open`: `true`, or in Node a folder. The file is removed at the end. By
   * default false. It has no effect on other images.
   */
  spool?: boolean | string | URL | undefined;
  /** Called while the disks are compared, and before, in the phase `unpacking`, while they are stored. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Cancels the comparison. */
  signal?: AbortSignal | undefined;
}

/** The result of a comparison. */
export interface CompareResult {
  /**
   * Whether the guest reads the same bytes from both disks; the smaller one counts as if zeros followed it. After a strict comparison:
   * whether the sizes and the allocation are the same, too.
   */
  readonly same: boolean;
  /** The sizes of the disks. */
  readonly virtualSizes: readonly [number, number];
  /** The first byte that differs. */
  readonly firstDifference?: number;
  /** The number of bytes that differ. */
  readonly differentBytes: number;
  /** The number of ranges that they form. */
  readonly differentRanges: number;
  /** In a strict comparison of disks of equal size: the first byte that is allocated or stored in different ways. */
  readonly firstAllocationDifference?: number;
  /** The notices that a conversion of either image would have; each names its image. */
  readonly notices: readonly Notice[];
  /** Lost ranges of images that were opened with `salvage`: they count as zeros. `disk` is 1 or 2. At most 10,000 a disk. */
  readonly lost: readonly LostRange[];
  /** The number of all lost ranges. */
  readonly lostRanges: number;
  /** The number of all lost bytes. */
  readonly lostBytes: number;
}

/** How to read a part of the disk. */
export interface ReadOptions {
  /** Cancels the reading. */
  signal?: AbortSignal | undefined;
}

/** The bytes of the disk that `readable` streams. */
export interface ReadableOptions {
  /** The offset of the first byte; by default 0. */
  offset?: number | undefined;
  /** The number of bytes; by default all up to the end of the disk. */
  length?: number | undefined;
  /** Cancels the reading. */
  signal?: AbortSignal | undefined;
}

/** The methods of every opened image. Its methods are bound: they work without the object, and through proxies. */
export interface ImageBase {
  /**
   * The disks in the image's archive, also those that were not chosen: in the order of the OVF descriptor if there is one, then
   * those that it does not list, in the order of the archive. The files that another disk is based on, or consists of, are not
   * listed. It has one entry for an archive with one disk, also for one that is read in order, and is empty for an image that is not
   * in an archive. Of archives in archives, it lists the outermost one with several disks.
   */
  readonly disks: readonly DiskMember[];
  /** The formats that the disk can be converted to, the default first; `refusal` says why one is not possible. */
  readonly formats: readonly OutputFormat[];
  /** Lists the places where disks run, with the output of this disk for each; `refusal` says why it does not fit there. */
  places(): Promise<ImagePlace[]>;
  /**
   * Starts the workers of a conversion, so that it begins at once. Calling it is optional. Workers that are not used within 10
   * seconds end.
   */
  prepare(): Promise<void>;
  /**
   * Checks the image before it is accepted: what it needs, what `info.safety` lists, and whether its tables are whole.
   * Without `deep` it reads at most 1 MiB, and the finding `unchecked` says how much was not read. With `deep`, it also checks the
   * structures of the image's file, as `qemu-img check` does. It unlocks nothing, and repairs nothing.
   */
  check(options?: CheckOptions): Promise<CheckResult>;
  /**
   * Compares the disk with that of `other`, another image of this package, bit by bit, whatever the formats of the images. What the maps of
   * both leave out is not read, nor what both leave to the same backing files. Fails as `convert` does; the message and
   * `fields.disk` of a failure name the image that it is about. A streamed image is refused as `unsupported` without `spool`.
   */
  compare(other: ImageBase, options?: CompareOptions): Promise<CompareResult>;
  /** Computes the digest of fs-verity of the disk. It reads the image as the SHA-256 does. */
  digest(options: DigestOptions & { tree: true }): Promise<TreeDigest>;
  /**
   * Computes the SHA-256 of the disk, of its bytes from 0 to the virtual size. It reads the data of the image once, as a conversion does, and
   * fails as that does: also at damage, unless the image was opened with `salvage`. Lost ranges are zeros then, and are listed. The image of
   * a stream can be read once: for its digest or for a conversion, or for both with `digest` of `convert`.
   */
  digest(options?: DigestOptions & { tree?: false | undefined }): Promise<DiskDigest>;
  /** Computes one of both, as `tree` says. */
  digest(options: DigestOptions): Promise<DiskDigest | TreeDigest>;
  /** Ends all work on this image and frees its resources. */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** An image that can be read at any position. */
export interface CommonImage extends ImageBase {
  /** Distinguishes a `DiskImage` from a `StreamedImage`. */
  readonly streamed: false;
  /**
   * The content of the headers, and the files and passwords that a conversion still needs. It is frozen, as `formats` and `disks` are: when
   * something changes, as by `unlock`, the image gets another object.
   */
  readonly info: Info;
  /**
   * Derives the keys of an encrypted image now, instead of when they are first needed. Does nothing if there is nothing to
   * unlock, or no password.
   */
  unlock(options?: UnlockOptions): Promise<void>;
  /** Lists the ranges of the disk, in order and without gaps. Each call reads the tables again. */
  map(options?: MapOptions): AsyncGenerator<Extent, void, void>;
  /** Measures what `convert` would write, by the tables of the image: quick, and without a target. */
  measure<Format extends OutputFormatName = OutputFormatName>(options?: MeasureOptions<Format>): Promise<MeasureResult>;
  /**
   * Returns `length` bytes of the disk from `offset`, as the guest reads them. They are held in memory: use `readable` for
   * more than a few MiB. Calls may overlap. Damaged bytes are zeros if the image was opened with `salvage`; otherwise the call
   * fails with `corrupt`. A range outside the disk is `usage`.
   */
  read(offset: number, length: number, options?: ReadOptions): Promise<Bytes>;
  /**
   * Streams `length` bytes of the disk from `offset`, by default all of it, in chunks of at most 4 MiB, as fast as they are taken. It
   * fails like `read`, and at its end if the file has changed. Cancelling it stops all reading.
   */
  readable(options?: ReadableOptions): ReadableStream<Bytes>;
}

/**
 * An image whose bytes come only in order: a raw disk in gzip, xz, zstd, bzip2 or lz4, or in a stream of the caller's. It can be converted,
 * digested and, with `spool`, compared; an image from a stream only once.
 */
export interface CommonStreamedImage extends ImageBase {
  /** Distinguishes a `StreamedImage` from a `DiskImage`. */
  readonly streamed: true;
  /** The information that is available before the conversion. */
  readonly info: StreamedInfo;
}
