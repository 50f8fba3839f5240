// The public types of conversions. All sizes and offsets are in bytes.

import type { LostCode, OutputFormatName } from '../errors/names.js';
import type { Waiting } from '../http/http-types.js';
import type { Network } from './types.contracts.js';
import type { OptionsByFormat } from './types.format-options.js';
import type { Notice, Refusal } from './types.info.js';

/** The engine of a conversion: workers with a memory each, or threads that share one memory. */
export type Engine = 'threads' | 'workers';

export type { Codec } from './registry.js';

/** How many workers decode, and by which engine. */
export interface EngineOptions {
  /** By default `auto`: the engine that is the fastest here. */
  engine?: Engine | 'auto' | undefined;
  /** The number of workers or threads that decode: 1 to 64. By default one for each core, at most 8. */
  workers?: number | undefined;
}

/** The workers to start. */
export interface PrepareOptions extends EngineOptions {
  /**
   * The size of the image in bytes, by default large. Of the workers, only the one that opens the image is started for an image
   * smaller than 4 MiB, or with 0, if no conversion follows.
   */
  size?: number | undefined;
}

/** A format that the disk of an image can be converted to. */
export interface OutputFormat {
  /** The name, as in `qemu-img -O`. */
  readonly name: OutputFormatName;
  /** The name for people. */
  readonly label: string;
  /** Its purpose in a few words: "For Azure". */
  readonly hint?: string;
  /** The extension of its files, with the dot. */
  readonly extension: string;
  /**
   * Its options, named as in `qemu-img -o`, with their default values. With `other`, other values than the listed ones are accepted, too: it
   * says which, such as "a number from 1 to 8".
   */
  readonly options: readonly {
    readonly name: string;
    readonly default: string;
    readonly values: readonly string[];
    readonly other?: string;
  }[];
  /**
   * The options that suit most people, if they are not the defaults: `{ compress: 'on' }`. The fields below describe a
   * conversion with these options.
   */
  readonly recommended: Readonly<Record<string, string>>;
  /** Whether data is compressed. That takes longer than writing it unchanged. */
  readonly compressed: boolean;
  /** Whether a conversion can be resumed. */
  readonly resumable: boolean;
  /** Whether targets that take bytes in ascending order only accept it: streams, standard output, most uploads. */
  readonly streamable: boolean;
  /** Whether readers look for a footer at the end of the file, so that nothing may follow the output. */
  readonly hasFooter: boolean;
  /**
   * Whether the size of the disk must be known first, but is known only at its end. A conversion of a compressed file then finds it
   * in the file, or decodes the file twice (phase `measuring`); that of a stream needs `spool`.
   */
  readonly needsSize?: boolean;
  /** The size of the output, if it is known before the conversion. */
  readonly outputSize?: number;
  /** The sector size of the output, if the format states one: that of the disk, if the image states it. */
  readonly sectorSize?: number;
  /** How the disk in the output differs from the image's: it may be larger, for example. */
  readonly notices: readonly Notice[];
  /** Why this disk cannot be converted to the format. */
  readonly refusal?: Refusal;
}

/** The value of any option of an output format. A number stands for its digits, `true` for `on`, `false` for `off`. */
export type FormatOptionValue = string | number | boolean;

/** The options of the output format `Format`. Those of a format that is known only when the program runs may have any name. */
export type FormatOptions<Format extends OutputFormatName = OutputFormatName> = Format extends keyof OptionsByFormat
  ? OptionsByFormat[Format]
  : Readonly<Record<string, FormatOptionValue | undefined>>;

/** The output format of a call. */
export interface FormatChoice<Format extends OutputFormatName = OutputFormatName> {
  /** The name of one of `DiskImage.formats`; by default `raw`. */
  format?: Format | undefined;
  /** The options of the format, by name; `OutputFormat.options` lists them with their values. */
  formatOptions?: FormatOptions<Format> | undefined;
}

/**
 * What a call does. A conversion has the phases `unlocking` (only if keys are not known yet), `preparing`, `measuring` (only if the image is
 * read twice: the first pass, in which nothing is written), `converting`, `sending` (only with `spool`: `converting` writes the temporary
 * file then), `verifying` (only with `verify`: the output is read back) and `finalizing`. `open` is `measuring` while parts of a compressed
 * file are decoded to know their sizes, and `unpacking` with `spool`. `check`, `compare`, and `digest` and `sha256`, are `checking`,
 * `comparing` and `digesting`; `compare` is `unpacking` before, with `spool`.
 */
export type Phase =
  | 'unlocking'
  | 'preparing'
  | 'measuring'
  | 'converting'
  | 'sending'
  | 'verifying'
  | 'finalizing'
  | 'unpacking'
  | 'checking'
  | 'comparing'
  | 'digesting';

/** The phases of a conversion. */
export type ConversionPhase = Exclude<Phase, 'unpacking' | 'checking' | 'comparing' | 'digesting'>;

/** The progress of a call: of a conversion, or of any other with `onProgress`. */
export interface Progress {
  /** The current phase. */
  readonly phase: Phase;
  /**
   * How much of the whole call is done, over all of its phases. It goes from 0 to 1, never falls, and is 1 only in the last report, when the call
   * has succeeded. Missing as long as no total is known: of a stream without a size.
   *
   * Each pass counts the same: over the disk (`measuring`, `converting`, `verifying` and others), holes included, over the output (`sending`),
   * or over the image's file if `guestTotal` is missing. An unlocking counts a twentieth of a pass, and the end a hundredth of the call.
   */
  readonly fraction?: number;
  /** The share of the unlocking that is done, 0 to 1: a lower bound. */
  readonly unlocked?: number;
  /** How many bytes of the disk are done in this pass, holes included. */
  readonly guestDone?: number;
  /** The virtual size; missing if it is known only at the end. */
  readonly guestTotal?: number;
  /** The size of the output, if it is known before the conversion. */
  readonly outputSize?: number;
  /**
   * The disk in at most 4,096 parts of the same length, the last one perhaps shorter: 1 for a part that is done, else 0.
   * Missing if the size is known only at the end.
   */
  readonly cells?: Uint8Array;
  /** The part of `guestDone` that `map` lists as data. Time is roughly proportional to this. */
  readonly dataDone?: number;
  /**
   * How many bytes of data were read from the image and its companions. If `guestTotal` is missing: how many bytes of the
   * image's file were read, `Info.fileSize` at the end.
   */
  readonly bytesRead?: number;
  /** How many bytes were written to the output, or to its temporary file. */
  readonly bytesWritten?: number;
  /** The network traffic since the images and the target were opened; missing if none of them uses a network. */
  readonly network?: Network;
  /** The server that the conversion waits for, after 5 seconds without an answer; otherwise missing. */
  readonly waiting?: Waiting;
  /** The first byte that differs, once a comparison has found it. */
  readonly firstDifference?: number;
  /** The recent speed in bytes per second: of the disk, or, while sending, of the output. 0 if nothing was done for 3 seconds. */
  readonly bytesPerSecond?: number;
  /**
   * The estimated time left of the whole call, at the recent speed; missing at the start, with `waiting`, and while the output is finalized. With
   * `spool`, missing until the output is sent: the speed of the target is unknown before.
   */
  readonly secondsLeft?: number;
}

/** The progress that an earlier conversion has saved for one with `resume`. */
export interface SavedProgress {
  /** How many bytes of the disk are done; 0 if nothing was saved. */
  readonly guestDone: number;
  /** Deletes the stored progress. Fails with `target` if that is impossible now. */
  discard(): Promise<void>;
}

/** A range of the disk. */
export interface DiskRange {
  /** The guest offset. */
  readonly offset: number;
  /** The length in bytes. */
  readonly length: number;
}

/**
 * A range of the disk that is lost: zeros in the output. With some codes (docs/errors.md lists them), the range was read, but its
 * bytes may be wrong.
 */
export interface LostRange {
  /** With `disks`: the number of the disk in the output, from 1. */
  readonly disk?: number;
  /** The guest offset. */
  readonly offset: number;
  /** The length in bytes. */
  readonly length: number;
  /** Why the range is lost: a code of docs/errors.md. */
  readonly code: LostCode;
  /** The reason for people: one clause, without a full stop at its end. */
  readonly message: string;
}

/**
 * The digest of a disk: of the bytes that the guest sees from 0 to the virtual size, zeros where nothing is stored. It depends neither on the
 * format of the image nor on how the image stores the disk.
 */
export interface DiskDigest extends DigestedDisk {
  /** The SHA-256 of the bytes, in hexadecimal digits: what `sha256sum` prints for a raw file with the disk. */
  readonly sha256: string;
}

/** The digest of a disk as fs-verity computes it: with SHA-256, blocks of 4 KiB, and no salt. */
export interface TreeDigest extends DigestedDisk {
  /** What `fsverity digest` prints for a raw file with the disk: `sha256:` and 64 hexadecimal digits. */
  readonly fsverity: string;
}

/** The disk that was digested. */
export interface DigestedDisk {
  /** How many bytes were digested: the virtual size. */
  readonly size: number;
  /**
   * Salvage: the lost ranges, which were digested as zeros, as in `ConvertResult`. If there are any, the digest is not that of the undamaged
   * disk.
   */
  readonly lost: readonly LostRange[];
  /** The number of lost ranges, listed or not. */
  readonly lostRanges: number;
  /** The number of lost bytes. */
  readonly lostBytes: number;
  /** Notices for a person. Only `digest` of an image returns them here; a conversion returns them in its `ConvertResult`. */
  readonly notices?: readonly Notice[];
}

/** Options of `sha256`. */
export interface Sha256Options {
  /** Cancels the digest. */
  signal?: AbortSignal | undefined;
  /** Called while the file is read. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The result of `verify`. */
export interface Verified {
  /** The size of the disk in the output, or of all its disks: all of their bytes were compared, zeros included. */
  readonly guestBytes: number;
  /**
   * `read-back`: the output was read back, and its disk is the one that was written. `checksums`: the destination has stated checksums of
   * all bytes that it has stored, and they are those of what was sent.
   */
  readonly method: 'read-back' | 'checksums';
}

/** The result of a conversion. */
export interface ConvertResult {
  /** The size of the disk: the virtual size of the image, or `size`, or the sum of all disks. Some formats make the disk larger: see `notices`. */
  readonly virtualSize: number;
  /**
   * The ranges of the disk with other bytes than in the image, ascending: those of a GPT that was moved. Zeros at the end are not listed.
   * `disk`, with `disks`: the number of the disk in the output, from 1.
   */
  readonly rewritten: readonly (DiskRange & { readonly disk?: number })[];
  /** The size of the output, holes included. */
  readonly outputSize: number;
  /**
   * How many bytes of data were read from the image and its companions. For a streamed image: how many bytes of the image's
   * file were read.
   */
  readonly bytesRead: number;
  /** How many bytes were written to the output. */
  readonly bytesWritten: number;
  /** How many bytes of the output are holes. */
  readonly holeBytes: number;
  /** Notices for a person about this result: docs/errors.md lists the codes. */
  readonly notices: readonly Notice[];
  /**
   * Whether a change of the image during the conversion would have been noticed. `false` for an image on a server that sends
   * too little information, and for a source that has `unnoticed`.
   */
  readonly sourceVerified: boolean;
  /** With `verify`: how the output was compared with the disk. An output that differs is a failure. */
  readonly verified?: Verified;
  /**
   * Whether the output is known to be complete at its destination. `false` only for an upload whose server cannot be asked for
   * the finished object; a notice `unconfirmed` says why.
   */
  readonly confirmed: boolean;
  /**
   * Salvage: the ranges of the disk that could not be read, or may be wrong. The first 10,000, in ascending
   * order. Adjacent ranges that are lost for the same reason are one range.
   */
  readonly lost: readonly LostRange[];
  /** The number of lost ranges, listed or not. */
  readonly lostRanges: number;
  /** The number of lost bytes. If it is not 0, the output is damaged. */
  readonly lostBytes: number;
  /** With `{ download }`: the copy in the browser's storage, which can be read until `copyExpires`. */
  readonly copy?: Blob;
  /** When the copy is removed: two minutes after the conversion, plus a second for each 20 MB. */
  readonly copyExpires?: Date;
  /** With `sha256`, if all bytes have passed in ascending order: the SHA-256 of the output, in hexadecimal digits. */
  readonly sha256?: string;
  /**
   * With `digest`: that of the image's disk, up to the image's virtual size. What the output changes is not in it: zeros that make the disk
   * larger, and a GPT that was moved. Missing with `disks`.
   */
  readonly digest?: DiskDigest;
  /** With `digest` and `disks`: the digest of each disk, in their order. */
  readonly digests?: readonly DiskDigest[];
  /** With `bmap`: the text of the bmap. */
  readonly bmap?: string;
  /** The names of companions that nothing refers to. */
  readonly unusedCompanions: readonly string[];
  /** The engine that ran. */
  readonly engine: Engine;
  /** Why this engine ran, in a few words. */
  readonly engineReason: string;
  /** How many workers or threads decoded. */
  readonly workers: number;
  /** The seconds spent in each phase of the conversion. */
  readonly time: Readonly<Record<ConversionPhase, number>>;
}
