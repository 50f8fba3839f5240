// The texts of the element from the start of a conversion on.

import type { ConvertResult, Waiting } from 'decant';

/** Where a disk was saved. The name of the folder is known only for `folder`. */
export type SavedPlace =
  | { kind: 'folder'; folder: { name: string }; name: string }
  | { kind: 'dialog' | 'stored' | 'streamed' | 'host'; name: string };

/** How a disk is saved: to a picked place, through the browser's storage, as a streamed download, or by the page. */
export type SaveMethod = 'picked' | 'stored' | 'streamed' | 'host';

/** The texts during a conversion, with its result, and after a failure. */
export interface ResultTexts {
  // During the conversion.
  phase: { converting: string; finishing: string; verifying: string };
  /** `phase` is one of the texts above, or `cancelling`. */
  working: (phase: string, name: string) => string;
  share: (share: number) => string;
  /** For screen readers. */
  converted: (share: number) => string;
  /** `converted`, while the result is read back. */
  compared: (share: number) => string;
  speed: (bytesPerSecond: number, method: SaveMethod) => string;
  left: (seconds: number) => string;
  /** In place of `left` while a file is completed in an unknown time. */
  leftUnknown: string;
  /** No bytes have come from the network for `seconds`. */
  silent: (seconds: number) => string;
  /** `silent` for screen readers. */
  silentShort: string;
  /** Nothing has been converted for `seconds`, for an unknown reason. */
  stalled: (seconds: number) => string;
  /** `stalled` for screen readers. */
  stalledShort: string;
  waiting: (waiting: Waiting) => string;
  /** `waiting` for screen readers. */
  waitingShort: (waiting: Waiting) => string;
  /** The browser completes a file. */
  finishing: string;
  /** Follows `finishing` if it takes hours: the browser completes the file `name` without the tab. */
  mayClose: (name: string) => string;
  /** How to stop the browser while it completes the file. `replaces`: a file `name` existed before. */
  quitToStop: (name: string, replaces: boolean) => string;
  /** The heading of the files that the browser completes while the element shows something else. */
  background: string;
  /** The browser has completed such a file for `seconds`, and probably needs `secondsLeft`. */
  checking: (seconds: number, secondsLeft: number | undefined) => string;
  cancel: string;
  cancelling: string;
  /** After a cancel while the browser completes a file: the file is removed afterwards. */
  cancelWaits: string;
  /** After a cancel while the browser completes a file that stays, because it replaces another file. */
  cancelTooLate: string;
  /** Shown with a result: the cancel came too late, so the file is complete. */
  wasTooLate: string;
  keepOpen: string;
  notify: string;
  notifyRefused: string;

  // When it is done.
  done: string;
  doneDamaged: string;
  doneSaving: string;
  /** The result was compared with the disk. */
  verified: { 'read-back': string; checksums: string };
  /** The partition table of an enlarged disk was moved to its new end. */
  tableMoved: string;
  /** Where the file is, after its size. */
  madeIn: (place: SavedPlace) => string;
  /** Where the disk is. `copying` is about how long the browser copies a download, if known. */
  place: (place: SavedPlace, copying: number | undefined) => string;
  /** In place of `place`, after the temporary copy of a download was removed. */
  copied: (name: string) => string;
  /** The temporary copy of a download in the browser's storage. */
  copyKept: (bytes: number, seconds: number) => string;
  details: string;
  facts: {
    disk: string;
    written: string;
    time: string;
    converting: string;
    copy: string;
    method: string;
    engine: string;
    threads: string;
  };
  writtenValue: (result: ConvertResult, method: SaveMethod) => string;
  timeValue: (seconds: number) => string;
  convertingValue: (seconds: number, speed: number | undefined, method: SaveMethod) => string;
  methodValue: Record<SaveMethod, string>;
  engineValue: (result: ConvertResult) => string;
  /** The value of `facts.threads`: the page is not cross-origin isolated. */
  notIsolated: string;
  convertAnother: string;
  /** Above the commands that bring the disk to its place. */
  nextStep: (place: string, shell: 'sh' | 'powershell') => string;
  /** The command of the number `step` prints the value of `placeholder`. */
  fromStep: (placeholder: string, step: number) => string;
  /** Copies the commands. */
  copy: string;
  copyAll: string;
  /** Computes the SHA-256 of the result. */
  compute: string;
  computing: string;
  copyDone: string;
  copyFailed: string;

  // After a failure. The texts from `nothingLeft` on say what remains of the output.
  failed: string;
  /** Asks whether a file without a known format is a raw disk. */
  isRaw: (name: string) => string;
  notOpened: (name: string) => string;
  notConverted: (name: string) => string;
  cancelled: string;
  nothingLeft: string;
  /** The download can be resumed. */
  partKept: string;
  /** So many bytes of the download are still in the browser's storage. */
  stillStored: (bytes: number) => string;
  /** A streamed download has failed: the browser may keep a part of it. */
  streamLeft: (name: string) => string;
  /** The file that was to be replaced is unchanged. */
  asItWas: (name: string) => string;
  /** The save dialog has created an empty file, or has emptied one. */
  emptyLeft: (name: string) => string;
  /** The state of the file is unknown. */
  fileLeft: (name: string) => string;
  /** The state of the file in the picked `folder` is unknown. `swap` is the browser's temporary file. */
  fileInFolderLeft: (folder: string, name: string, swap: string) => string;
  /** The folder is gone. `swap` is the browser's temporary file; `replaces` says whether `name` existed before. */
  folderMoved: (folder: string, name: string, swap: string, replaces: boolean) => string;
  /** The picked file is gone. `swap` is the browser's temporary file. */
  fileMoved: (name: string, swap: string) => string;
  /** The browser does not let the page look at the file. */
  unknownLeft: (name: string) => string;
  next: {
    raw: string;
    salvage: string;
    again: string;
    saveAgain: string;
    filesAgain: string;
    editLink: string;
    next: string;
    another: string;
  };
}
