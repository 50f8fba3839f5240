// What the page can be showing.

import type { AnyImage, Kept, Need, OutputFormat, Result, Waiting } from 'decant';
import type { Given } from './given.js';
import type { DiskPicture } from './picture/disk-picture.js';
import type { Method } from './rates.js';
import type { Choice, Survey, Way } from './ways.js';

/** What the person can do after a failure. */
export type Next =
  /** Read the file as a raw disk. */
  | 'raw'
  /** Read what is left of a damaged image. */
  | 'salvage'
  /** Open the image again. */
  | 'again'
  /** Open the image again, to save it in another way. */
  | 'saveAgain'
  /** Open the image without its companions. */
  | 'filesAgain'
  /** Open the next image of the queue. */
  | 'next'
  | 'another';

/** A question that the person has to answer before anything is written. */
export type Asking =
  /** The folder has a file of the name. */
  | { kind: 'replace'; folder: FileSystemDirectoryHandle; name: string; freeName: string; there: File }
  /** The folder's file of the name is the image, or belongs to it. */
  | { kind: 'source'; folder: FileSystemDirectoryHandle; name: string; freeName: string }
  /** The dialog for a folder was closed without one. */
  | { kind: 'noFolder' }
  /** A download of this disk was cut off when so much of it was done: 0 to 1. */
  | { kind: 'goOn'; name: string; share: number; kept: Kept };

/** A file that was handed over for a need, and the reasons why it may be the wrong one. */
export interface Doubt {
  need: FileNeed;
  given: Given;
  reasons: string[];
}

export type FileNeed = Extract<Need, { kind: 'missing-file' }>;

/** Where a disk is written to. */
export type Place =
  /** `replaces` is the file that was there before, if any. */
  | { kind: 'folder'; folder: FileSystemDirectoryHandle; name: string; replaces: File | undefined }
  | { kind: 'dialog'; handle: FileSystemFileHandle; name: string }
  /** What is done is kept where it is cut off, unless `kept` is undefined. */
  | { kind: 'stored'; name: string; kept: Kept | undefined }
  | { kind: 'streamed' | 'host'; name: string };

export const methodOf = ({ kind }: Place): Method => (kind === 'folder' || kind === 'dialog' ? 'picked' : kind);

export type State =
  | { step: 'empty'; notice?: string }
  | { step: 'opening'; name: string }
  | {
      step: 'needs';
      image: AnyImage;
      needs: Need[];
      notice: string | undefined;
      /** A file of another name than the missing one. The person may mean it all the same. */
      offered: Given | undefined;
      doubt: Doubt | undefined;
      canAssume: boolean;
    }
  | { step: 'unlocking'; name: string; share: number }
  | {
      step: 'ready';
      image: AnyImage;
      survey: Survey;
      choices: Choice[];
      way: Way | undefined;
      /** The output format that is chosen. The image can be converted to it. */
      output: OutputFormat;
      otherTab: boolean;
      /** The name for the output as it stands in the field, and what is wrong with it. */
      name: string;
      nameProblem: string | undefined;
      /** The chosen place in the list of snapshots; -1 is the active disk. */
      chosenSnapshot: number;
      /** A folder that was picked before. */
      folder: FileSystemDirectoryHandle | undefined;
      asking: Asking | undefined;
      /** Whether the place is being asked for or checked. */
      placing: boolean;
      /** Whether a dialog of the browser is open. */
      picking: boolean;
    }
  | {
      step: 'converting';
      name: string;
      place: Place;
      phase: 'converting' | 'finishing';
      /** The share of the work that is done: 0 to 1. */
      share: number;
      secondsLeft: number | undefined;
      speed: number | undefined;
      picture: DiskPicture | undefined;
      /** For how many seconds the network has brought nothing. */
      silence: number;
      /** The server that is waited for. */
      waiting: Waiting | undefined;
      cancelling: boolean;
    }
  | {
      step: 'done';
      name: string;
      place: Place;
      result: Result;
      picture: DiskPicture | undefined;
      /** The time in all, in seconds. */
      seconds: number;
      /** The time of converting alone, in seconds. */
      converting: number;
      /** In bytes per second of converting. */
      speed: number | undefined;
      /** About how many seconds the browser still copies, if that is known. */
      copying: number | undefined;
      /** Whether the copy in the browser's storage was removed. */
      isCopyGone: boolean;
      /** Whether the disk has a GPT, if that is known. */
      hasGpt: boolean | undefined;
      /** Whether it was cancelled when it could no longer be stopped. */
      tooLate: boolean;
    }
  | {
      step: 'failed';
      title: string;
      message: string | undefined;
      /** What the conversion has left behind. */
      left: string | undefined;
      /** What the person can do. */
      next: Next[];
    };

export type Step<S extends State['step']> = Extract<State, { step: S }>;
