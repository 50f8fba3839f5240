// The texts of the element, as a page may replace them.

import type { AnyInfo, DecantError, LostRange, Need, Notice, OutputFormat, Result, Snapshot, Waiting } from 'decant';

/** A file that an image needs. */
export type MissingFile = Extract<Need, { kind: 'missing-file' }>;

/** Where a disk was saved. Only `folder` names the folder. */
export type SavedPlace =
  | { kind: 'folder'; folder: { name: string }; name: string }
  | { kind: 'dialog' | 'stored' | 'streamed' | 'host'; name: string };

/** How a disk is saved: to a picked place, by the browser's storage, as a streamed download, or to where the page wants it. */
export type SaveMethod = 'picked' | 'stored' | 'streamed' | 'host';

/** Time and space for saving a disk in one way. */
export interface SaveCost {
  /** Seconds, where they are known. */
  seconds?: number;
  /** Whether `seconds` is a guess: nothing was saved in this way before. */
  isGuess?: boolean;
  /** Bytes on the disk, where they are known. */
  space?: number;
  /** Whether both are lower bounds. */
  atLeast?: boolean;
}

/** A partition, or the whole disk where it has none. */
export interface DiskPart {
  /** Bytes. */
  size: number;
  /** The name in the partition table. */
  name?: string;
  /** The type in the partition table, where it is a common one. */
  type?: string;
  fileSystem?: { name: string; label?: string };
}

/** The failure that a text describes. */
export type Failed = Pick<DecantError, 'kind' | 'code' | 'fields' | 'message'>;

/**
 * All texts of the element. Values are as they are in files and images: show names by `shownText`. Sizes are in bytes, times
 * in seconds, shares from 0 to 1.
 */
export interface AllTexts {
  /** A size, as it is shown everywhere. */
  size: (bytes: number) => string;

  // Above the card, and on the first screen.
  title: string;
  tagline: string;
  /** Shown unless the page takes disks itself. */
  nothingUploaded: string;

  dropHere: string;
  orPaste: string;
  choose: string;
  address: string;
  addressFor: (need: MissingFile) => string;
  openAddress: string;
  noAddress: string;
  trySample: string;
  help: string[];
  /** Shown unless the page takes disks itself. */
  checkUploads: string;
  dropToOpen: string;
  dropToQueue: string;
  dropToAnswer: (name: string) => string;
  opening: (name: string) => string;
  dropped: string;
  chosen: string;
  noFiles: string;
  tooMany: (most: number) => string;
  notFetched: (name: string) => string;
  aside: (names: string[]) => string;

  // The queue.
  queue: string;
  queued: {
    added: (names: string[]) => string;
    claimed: (names: string[]) => string;
    waiting: string;
    current: string;
    saved: (place: SavedPlace) => string;
    cancelled: string;
    open: string;
    remove: string;
  };

  // An image that is open.
  image: string;
  format: string;
  virtualSize: string;
  unknownSize: string;
  fileSize: string;
  fileSizeValue: (bytes: number, files: number) => string;
  data: string;
  layers: string;
  encryption: string;
  encryptionValue: (encryption: NonNullable<AnyInfo['encryption']>) => string;
  snapshot: string;
  activeDisk: string;
  snapshotValue: (snapshot: Snapshot) => string;
  openSnapshot: string;
  otherSnapshot: string;
  unused: (names: string[]) => string;
  formatValue: (info: AnyInfo) => string;
  dataCounting: (bytes: number) => string;
  dataValue: (bytes: number, compressed: number) => string;

  // The picture of the disk, and what is inside of it.
  picture: {
    /** For those who cannot see it. `share` is the converted part of the disk. */
    label: (share: number | undefined) => string;
    data: string;
    layer: (name: string) => string;
    compressed: string;
    empty: string;
    lost: string;
  };

  contents: {
    title: (table: { kind: 'MBR' | 'GPT' } | undefined, parts: number) => string;
    part: (part: DiskPart) => string;
    more: (parts: number) => string;
    damaged: string;
  };

  // Files and passwords that an image needs.
  needsFile: (need: MissingFile) => string;
  needsTitle: (name: string, role: string) => string;
  needsPassword: (name: string) => string;
  chooseFor: (need: MissingFile) => string;
  chooseOther: (need: MissingFile) => string;
  needsFileHint: string;
  notTheFile: (names: string[]) => string;
  useAllTheSame: (name: string, role: string) => string;
  doubt: (name: string, role: string) => string;
  doubtHint: string;
  useIt: string;
  otherName: (name: string, wanted: string) => string;
  probablyTheImage: (name: string) => string;
  smallerLayer: (name: string, bytes: number, above: string, aboveBytes: number) => string;
  shortDataFile: (name: string, bytes: number, disk: number) => string;
  notRaw: (name: string, format: string, above: string) => string;
  noDisk: (name: string) => string;
  guessedRaw: (name: string) => string;
  passwordOf: (name: string) => string;
  passwordHint: string;
  unlock: string;
  unlocking: (name: string) => string;
  assume: string;

  // Damaged images.
  salvaging: (bytes: number) => string;
  lost: (bytes: number, ranges: number) => string;
  lostList: string;
  lostMore: (ranges: number) => string;
  lostRange: (range: LostRange) => string;

  // What to make of the disk, and how to save it.
  unknownCost: string;
  compressedCost: string;
  beginsAnew: string;
  output: string;
  outputValue: (output: OutputFormat) => string;
  /** `hasGpt` says whether a GPT is on the disk, if that is known. */
  notice: (notice: Notice, hasGpt: boolean | undefined) => string;
  outputRefusal: (output: OutputFormat, refusal: NonNullable<OutputFormat['refusal']>) => string;
  saveHow: string;
  fileName: string;
  noName: string;
  badName: (character: string) => string;
  controlInName: string;
  nameEnd: string;
  longName: (bytes: number, most: number) => string;
  folderOfName: string;
  nameRefused: string;
  ways: {
    folder: string;
    dialog: string;
    download: string;
    host: string;
  };
  pickedCost: (cost: SaveCost) => string;
  downloadCost: (cost: SaveCost, disk: number) => string;
  folderChosen: (name: string) => string;
  otherFolder: string;
  betterTime: (seconds: number) => string;
  betterSpace: (bytes: number, other: number) => string;
  noPicker: string;
  foreignPicker: string;
  /** Why no download can be made in a frame, by the code of `targets()`. */
  frameDownload: { 'sandboxed-downloads': string; 'sandboxed-frame': string; 'foreign-frame': string };
  pickerFailed: string;
  streamsForRoom: (room: number | undefined) => string;
  noRoom: (room: number | undefined, obstacle: string, canPick: boolean) => string;
  mayNotFit: (room: number | undefined) => string;
  finding: string;
  streamsNot: string;
  noStream: (reason: string) => string;
  insecure: string;
  otherTab: string;
  convert: string;
  noWay: string;
  picking: string;

  // Questions before the conversion.
  replaceTitle: (name: string, folder: string) => string;
  replaceQuestion: string;
  replace: string;
  sourceTitle: (name: string) => string;
  sourceHint: string;
  saveAs: (name: string) => string;
  goOnTitle: (share: number) => string;
  goOnQuestion: string;
  goOn: string;
  beginAnew: string;
  noFolderTitle: string;
  noFolderHint: string;
  dialogHint: string;
  dialogWarning: string;
  useDialog: string;

  // During the conversion.
  phase: { converting: string; finishing: string };
  working: (phase: string, name: string) => string;
  percent: (share: number) => string;
  converted: (percent: number) => string;
  speed: (bytesPerSecond: number, method: SaveMethod) => string;
  left: (seconds: number) => string;
  leftUnknown: string;
  silent: (seconds: number) => string;
  silentShort: string;
  waiting: (waiting: Waiting) => string;
  waitingShort: (host: string) => string;
  finishing: string;
  cancel: string;
  cancelling: string;
  cancelWaits: string;
  cancelTooLate: string;
  wasTooLate: string;
  keepOpen: string;
  notify: string;
  notifyRefused: string;

  // When it is done.
  done: string;
  doneDamaged: string;
  doneSaving: string;
  place: (place: SavedPlace, copying: number | undefined) => string;
  copied: (name: string) => string;
  copyKept: (bytes: number) => string;
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
  writtenValue: (result: Result, method: SaveMethod) => string;
  timeValue: (seconds: number) => string;
  convertingValue: (seconds: number, speed: number | undefined, method: SaveMethod) => string;
  methodValue: {
    picked: string;
    stored: string;
    streamed: string;
    host: string;
  };
  engineValue: (result: Result) => string;
  notIsolated: string;
  convertAnother: string;

  // After a failure.
  failed: string;
  /** Why it failed. Other texts say what stays of the output. */
  failure: (failed: Failed) => string;
  notOpened: (name: string) => string;
  notConverted: (name: string) => string;
  cancelled: string;
  nothingLeft: string;
  partKept: string;
  streamLeft: (name: string) => string;
  asItWas: (name: string) => string;
  emptyLeft: (name: string) => string;
  fileLeft: (name: string) => string;
  folderMoved: (folder: string, name: string, swap: string, replaces: boolean) => string;
  fileMoved: (name: string, swap: string) => string;
  unknownLeft: (name: string) => string;
  next: {
    raw: string;
    salvage: string;
    again: string;
    saveAgain: string;
    filesAgain: string;
    next: string;
    another: string;
  };
}

/** A text; for one with values, also a function of these values. */
type Replaced<T> = T extends string
  ? string
  : T extends (...values: infer V) => string
    ? string | ((...values: V) => string)
    : { [Name in keyof T]?: Replaced<T[Name]> | undefined };

/** Replacements of texts, by their names. The element keeps its own text for every other name. `help` has a slot instead. */
export type Texts = Replaced<Omit<AllTexts, 'help'>>;
