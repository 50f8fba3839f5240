// The states of the element.

import type { AnyImage, ConvertResult, DiskMember, Need, OutputFormat, SavedProgress, Snapshot, Waiting } from 'decant';
import type { Contents } from 'decant/contents';
import type { MadeDisk } from 'decant/places';
import type { InputFile } from '../files/input-file.js';
import type { DiskPicture } from '../picture/disk-picture.js';
import type { MissingFile } from '../types.texts.js';
import type { SaveMethod } from '../types.texts-results.js';
import type { Choice, Selection, Survey } from '../ways/choices.js';
import type { Destination } from '../ways/destinations.js';

/** An action that a person can take after a failure. */
export type Remedy =
  /** Read the file as a raw disk. */
  | 'raw'
  /** Read the undamaged parts of an image. */
  | 'salvage'
  /** Open the image again. */
  | 'again'
  /** Open the image again, to save its disk in another way. */
  | 'saveAgain'
  /** Open the image without its companions. */
  | 'filesAgain'
  /** Mend the link to the image. */
  | 'editLink'
  /** Open the next image of the queue. */
  | 'next'
  /** Return to the first screen. */
  | 'another';

/** A question that the person must answer before anything is written. */
export type Asking =
  /** The folder already contains a file with this name. */
  | { kind: 'replace'; folder: FileSystemDirectoryHandle; name: string; freeName: string; there: File }
  /** The existing file is the image itself or belongs to it. */
  | { kind: 'source'; folder: FileSystemDirectoryHandle; name: string; freeName: string }
  /** `way` leads to a place where the browser checks the whole file of `length` bytes, for hours. `quick` is a format without holes. */
  | { kind: 'longCheck'; way: 'folder' | 'dialog'; length: number; quick: OutputFormat | undefined }
  /** The dialog for a folder was closed without a choice. */
  | { kind: 'noFolder' }
  /** A download of this disk was interrupted when `share` of it was done: 0 to 1. */
  | { kind: 'resume'; name: string; share: number; kept: SavedProgress }
  /** Another tab has resumed that download by now. */
  | { kind: 'elsewhere'; name: string; kept: SavedProgress };

/** A file that was given for a need, and the reasons why it may be the wrong one. */
export interface Doubt {
  need: MissingFile;
  input: InputFile;
  reasons: string[];
}

/** A text in a field for links that is not a link. */
export interface AddressProblem {
  turn: AbortSignal;
  /** The need of the field; `undefined` on the first screen. */
  need: string | undefined;
  /** How often the text was refused. */
  refusals: number;
}

/** The results of a queue, after the last one. */
export interface Overall {
  done: number;
  all: number;
  /** The images that were not converted. */
  failed: string[];
  /** The images whose disks have lost parts. */
  damaged: string[];
}

/** A warning, which is shown and announced. */
export interface Warning {
  /** Stays the same while the figures in the text change. */
  id: string;
  text: string;
  /** Whether it describes the element that takes the focus, so that screen readers read it anyway. */
  isDescription?: boolean;
}

/** Where a disk is saved. */
export type Target =
  /** `replaces` is the existing file, if any. */
  | { kind: 'folder'; folder: FileSystemDirectoryHandle; name: string; replaces: File | undefined }
  | { kind: 'dialog'; handle: FileSystemFileHandle; name: string }
  /** An interrupted download is kept, unless `kept` is undefined. */
  | { kind: 'stored'; name: string; kept: SavedProgress | undefined }
  | { kind: 'streamed' | 'host'; name: string };

/** Whether a place is being picked or looked at, which must end before the image is left. A search for the kept part of a download may go on. */
export const isPlaceBeingChosen = ({ choosingTarget, picking, way }: Step<'ready'>): boolean =>
  choosingTarget && (picking || way !== 'download');

/** The missing disks whose files the person can add. */
export const disksToAdd = ({ disks, isArchive }: Step<'disks'>): DiskMember[] =>
  isArchive ? [] : disks.filter(({ missing }) => missing);

export const methodOf = ({ kind }: Target): SaveMethod => (kind === 'folder' || kind === 'dialog' ? 'picked' : kind);

/** Shorter silences of a network, in seconds, are not shown. */
export const SILENT = 5;
/** If the browser completes a file in less time, in seconds, the person is not offered to do something else. */
export const LONG_FINISH = 1;
/** Shorter times without any progress, in seconds, are not shown. */
export const STALLED = 30;

/** The SHA-256 of a result or a disk, or how much of it is computed, or why that failed. */
export interface Digest {
  value?: string;
  /** A fact that the person should know about the value. */
  note?: string;
  share?: number;
  cancel?: () => void;
  problem?: string;
}

/** The remains of an interrupted conversion, on the first screen. */
export interface Remains {
  /** The name of the image. */
  image: string;
  text: string;
  /**
   * For a conversion that can be resumed: how much of the disk is done, 0 to 1, if that is known, and the link of the image: empty if
   * the link is not stored, `undefined` if none is known.
   */
  resumable?: { share: number | undefined; link: string | undefined };
  /** Whether it is listed on the first screen only until the next step. */
  isListedOnce?: boolean;
  /** Says what `remove` does. */
  action: string;
  /** Removes it. Resolves to a sentence about what has happened, if it is worth one. Fails with a `DecantError`. */
  remove(): Promise<string>;
}

/** The progress of a conversion at one moment. */
export interface ProgressNow {
  /** The share of the work that is done: 0 to 1. */
  share: number;
  /** `undefined` if it is unknown, and while a server or the network is waited for. */
  secondsLeft: number | undefined;
  /**
   * Bytes of data per second since converting began; of a stream, bytes of the disk. `undefined` while a server or the
   * network is waited for.
   */
  speed: number | undefined;
  /** The seconds since the network last delivered bytes, if requests are being retried. */
  silence: number;
  /** The seconds since the last progress, unless the browser completes the file, which reports none. */
  stalled: number;
  /** The seconds since the browser began to complete the file; `undefined` before. */
  finishing: number | undefined;
  /** The server that is waited for. */
  waiting: Waiting | undefined;
}

export type State =
  | { step: 'empty'; notice?: string; remains?: Remains[] | undefined }
  /** `isSlow`: it takes longer than usual, and no server is known to be the reason. */
  | { step: 'opening'; name: string; isSlow?: boolean; share?: number | undefined }
  | {
      step: 'needs';
      image: AnyImage;
      needs: Need[];
      notice: string | undefined;
      /** A file with another name than the missing one, which the person may use anyway. */
      offered: InputFile | undefined;
      doubt: Doubt | undefined;
      canAssume: boolean;
    }
  /**
   * Asks which of the disks in the archive, or of the machine, `name` to convert, and for the files of missing ones. `offered`: a
   * file with another name, which may be one of them.
   */
  | {
      step: 'disks';
      name: string;
      disks: readonly DiskMember[];
      /** Whether they are in an archive, to which no missing file can be added. */
      isArchive: boolean;
      /** Whether no file in the archive looks like a disk: `disks` are all its files. */
      isUnknown?: boolean;
      /** The snapshots of the machine. */
      snapshots: readonly Snapshot[];
      notice: string | undefined;
      offered?: InputFile;
    }
  /** Asks whether to unpack the file `name`, which contains a `format`. */
  | { step: 'packed'; name: string; format: string; size: number | undefined }
  /** Asks whether the image `name`, which needs `size` bytes of memory to be decoded, may take them. */
  | { step: 'large'; name: string; size: number }
  /** `share` is missing if it is unknown. */
  | { step: 'unpacking'; name: string; share: number | undefined }
  | { step: 'unlocking'; name: string; share: number }
  | (Selection & {
      step: 'ready';
      /** The name of the image, or of a machine with several disks, on the screen. */
      label: string;
      image: AnyImage;
      /** The images of the further disks that become the same file, in their order. */
      others: readonly AnyImage[];
      survey: Survey;
      choices: Choice[];
      /** The places where disks run; empty until they are known. */
      destinations: Destination[];
      /** The one that is chosen or proposed. */
      destination: Destination | undefined;
      /** Why the places are not known. */
      placesProblem: string | undefined;
      /** The chosen output format, which is possible for the image. */
      output: OutputFormat;
      otherTab: boolean;
      /** The name in the text field, and the problem with it. */
      name: string;
      nameProblem: Warning | undefined;
      /** How often Convert was refused because of the name. Each time the text field takes the focus. */
      nameRefusals: number;
      /** The size that the person gives the disk, in bytes. */
      size: number | undefined;
      /** Whether the person wants the result verified; `undefined` if the person has not chosen. */
      verify: boolean | undefined;
      /** A folder that was picked before. */
      folder: FileSystemDirectoryHandle | undefined;
      asking: Asking | undefined;
      /** Whether the target is being chosen or checked. */
      choosingTarget: boolean;
      /** Whether a dialog of the browser is open. */
      picking: boolean;
      /** The SHA-256 of the disk, once the person has asked for it. */
      digest?: Digest | undefined;
    })
  | (ProgressNow & {
      step: 'converting';
      name: string;
      target: Target;
      destination: Destination | undefined;
      /** The partitions and file systems, if they are known. */
      contents: Contents | undefined;
      phase: 'converting' | 'finishing' | 'verifying';
      picture: DiskPicture | undefined;
      /** Whether the browser checks the file longer than minutes. */
      takesHours: boolean;
      cancelling: boolean;
    })
  | {
      step: 'done';
      name: string;
      target: Target;
      destination: Destination | undefined;
      contents: Contents | undefined;
      /** The disks of this archive or machine that were made for the same place so far, this disk included. */
      made: MadeDisk[];
      result: ConvertResult;
      picture: DiskPicture | undefined;
      /** The total time, in seconds. */
      seconds: number;
      /** The time for converting alone, in seconds. */
      converting: number;
      /** Bytes per second while converting. */
      speed: number | undefined;
      /** About how many more seconds the browser copies the file, if known. */
      copying: number | undefined;
      /** Whether the copy in the browser's storage was removed. */
      isCopyGone: boolean;
      /** The SHA-256 of the file, once the person has asked for it. */
      digest?: Digest | undefined;
      /** Whether a cancel came too late to stop the conversion. */
      tooLate: boolean;
    }
  | {
      step: 'failed';
      /** Whether it is a question, and nothing has failed. */
      asks?: boolean;
      title: string;
      message: string | undefined;
      /** A sentence about the remains of the output. */
      remains: string | undefined;
      remedies: Remedy[];
    };

export type Step<S extends State['step']> = Extract<State, { step: S }>;
