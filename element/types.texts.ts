// The texts of the element, which a page may replace.

import type { AnyInfo, DecantError, LostRange, Need, Notice, OutputFormat, Snapshot } from 'decant';
import type { ResultTexts, SavedPlace } from './types.texts-results.js';

/** A file that an image needs. */
export type MissingFile = Extract<Need, { kind: 'missing-file' }>;

/** Time and space that one way of saving takes. */
export interface SaveCost {
  /** Seconds, if known. */
  seconds?: number;
  /** Whether `seconds` is only estimated: nothing was saved in this way before. */
  isGuess?: boolean;
  /** Bytes of storage, if known. */
  space?: number;
  /** Whether both are lower bounds. */
  atLeast?: boolean;
  /** Whether it takes longer than minutes, whatever the data, because the whole file is checked or sent. */
  takesHours?: boolean;
}

/** A partition, or the whole disk if it has no partitions. */
export interface DiskPart {
  /** The length in bytes. */
  length: number;
  /** The name in the partition table. */
  name?: string;
  /** The type in the partition table, if it is a common one. */
  type?: string;
  fileSystem?: { name: string; label?: string };
}

/** A failure, as `failure` describes it. */
export type Failed = Pick<DecantError, 'kind' | 'code' | 'fields' | 'message'>;

/**
 * All texts of the element. Names are passed unchanged from files and images: show them by `shownText`. Sizes are in bytes,
 * times in seconds, shares from 0 to 1.
 */
export interface AllTexts extends ResultTexts {
  /** A size, as it is shown everywhere. */
  size: (bytes: number) => string;

  // Above the card, and on the first screen.
  title: string;
  tagline: string;
  /** Shown unless the page has set `output`. */
  nothingUploaded: string;

  dropHere: string;
  /** The formats that most people have, and where they go. */
  fromTo: string;
  /** Opens the lists of all formats. */
  allFormats: string;
  /** Lists the formats that are read; `makes` lists those that are written. */
  takes: (inputs: string[]) => string;
  makes: (outputs: string[]) => string;
  choose: string;
  /** Opens the field for a link. */
  fromLink: string;
  address: string;
  addressFor: (need: MissingFile) => string;
  openAddress: string;
  noAddress: string;
  trySample: string;
  /**
   * The conversion of the image `name` to a download was interrupted, at `share` if that is known. The finished part has `bytes`.
   * The image came from `link`, which is empty if it is not stored; `undefined` if the image came from a file, or from an unknown place.
   */
  interrupted: (name: string, bytes: number, share: number | undefined, link: string | undefined) => string;
  /** The button that discards the finished part. */
  discard: string;
  storageFreed: (bytes: number) => string;
  /** The person wanted to resume, but the finished part is not of the image `name`. */
  notResumed: (name: string) => string;
  /** The conversion of the image `name` was interrupted. The folder of the output `file` is known if a folder was picked. */
  fileInterrupted: (name: string, file: string, folder: string | undefined) => string;
  /** The conversion of the image `name` to the streamed download `file` was interrupted; `dismiss` removes the text. */
  downloadLost: (name: string, file: string) => string;
  dismiss: string;
  /** The button that removes the unfinished output `file`. The next three texts say what has happened. */
  removeFile: (file: string) => string;
  fileRemoved: (file: string) => string;
  fileStays: (file: string) => string;
  fileNotRemoved: (file: string) => string;
  /** In place of `proof`, on the page of Decant. */
  badge: string;
  /** Opens `checkUploads`, which says how to check that nothing is uploaded. Both are shown unless the page has set `output`. */
  proof: string;
  checkUploads: string;
  /** Shown during a drag; so are `dropToQueue` and `dropToAnswer`. */
  dropToOpen: string;
  dropToQueue: string;
  /** `name` is the image that needs a file. */
  dropToAnswer: (name: string) => string;
  opening: (name: string) => string;
  /** Opening takes longer than usual. */
  slow: string;
  /** What dropped files are called in `opening` and `notFetched`; `chosen` is for files from the browser's dialog. */
  dropped: string;
  chosen: string;
  noFiles: string;
  /** `most` is the largest possible number of files. */
  tooMany: (most: number) => string;
  notFetched: (name: string) => string;
  /** Of several files, none can be a disk image. */
  noImages: (names: string[]) => string;
  /** Files that are not disk images, beside some that are. */
  aside: (names: string[]) => string;
  /** Images that stay with a virtual machine, because they may belong to a disk that it lacks. */
  held: (names: string[]) => string;

  // The queue.
  queue: string;
  /** Converts the image that is shown and those that wait. */
  convertAll: (images: number) => string;
  /** The same, if they are the disks of one archive or machine. Beside it, `convertDisk` converts the open disk alone. */
  convertDisks: (disks: number) => string;
  convertDisk: string;
  /** The heading and the title after the last image of the queue. */
  allDone: (done: number, all: number) => string;
  /** The images of the queue that were not converted, and those whose disks have lost parts. */
  notAll: (names: string[]) => string;
  someDamaged: (names: string[]) => string;
  queued: {
    added: (names: string[]) => string;
    /** Files that were in the queue and that the open image needs. */
    claimed: (names: string[]) => string;
    waiting: string;
    /** The image that is shown. */
    current: string;
    /** The person has removed a waiting image. */
    removed: (name: string) => string;
    /** The file has `bytes`. */
    saved: (place: SavedPlace, bytes: number) => string;
    /** Opens the commands and details of a result; without commands, `details` does. */
    commands: string;
    cancelled: string;
    open: string;
    remove: string;
    /** Opens an image that has failed, to convert what can be read of it. */
    salvage: string;
  };

  // An image that is open.
  image: string;
  format: string;
  virtualSize: string;
  /** In place of a size that is known only at the end of the image. */
  unknownSize: string;
  fileSize: string;
  fileSizeValue: (bytes: number, files: number) => string;
  data: string;
  layers: string;
  /** The virtual machine that the disk belongs to. */
  machine: string;
  encryption: string;
  diskDigest: string;
  computeDiskDigest: string;
  diskDigestHint: string;
  encryptionValue: (encryption: NonNullable<AnyInfo['encryption']>) => string;
  snapshot: string;
  activeDisk: string;
  snapshotValue: (snapshot: Snapshot) => string;
  /** Files that the person has given and that the image does not use. */
  unused: (names: readonly string[]) => string;
  formatValue: (info: AnyInfo) => string;
  /** The data found so far. */
  dataCounting: (bytes: number) => string;
  dataValue: (bytes: number, compressed: number) => string;

  // The picture of the disk, and its contents.
  picture: {
    /** For screen readers. `share` is the converted part of the disk, during a conversion. */
    label: (share: number | undefined) => string;
    data: string;
    /** Data of the layer in the file `name`. */
    layer: (name: string) => string;
    compressed: string;
    empty: string;
    lost: string;
    /** Describes the cell at `offset`: its content, its partition, and the file of its layer if there are several layers. */
    cell: (
      offset: number,
      content: 'data' | 'compressed' | 'empty' | 'lost' | 'unknown',
      part: DiskPart | undefined,
      layer: string | undefined,
    ) => string;
    /** The same as a table for screen readers: its title and its columns. */
    table: { caption: string; part: string; start: string; data: string };
  };

  contents: {
    title: (table: { kind: 'MBR' | 'GPT' } | undefined, parts: number) => string;
    part: (part: DiskPart) => string;
    /** The number of parts that are not listed. */
    more: (parts: number) => string;
    /** The partition table is damaged. */
    damaged: string;
    /** What starts the system on the disk. */
    firmware: (found: readonly ('efi' | 'bios')[]) => string;
  };

  // The disks in an archive that has several, or of a virtual machine.
  disksTitle: (name: string, count: number) => string;
  disksQuestion: string;
  /** No file of the archive `name` looks like a disk. */
  noDiskTitle: (name: string) => string;
  noDiskQuestion: string;
  /** In place of the size of a disk whose file was not given; the number of these disks is `count`. */
  diskMissing: string;
  /** After the size of the file of a disk: the virtual size that the machine states, in bytes. */
  diskSize: (bytes: number) => string;
  disksMissing: (count: number) => string;
  useAsDisk: (name: string, disk: string) => string;
  noDiskChosen: string;
  openDisks: string;
  /** Opens all disks that were chosen, to convert them to one OVA. Beside it, `diskInOva` makes one of the open disk alone. */
  joinDisks: (disks: number) => string;
  diskInOva: string;
  /** Leads back to the single disks. */
  separateDisks: string;
  /** The number of disks that become one OVA. */
  joined: (disks: number) => string;
  /** The disks that the OVA lacks, because their files are missing. */
  withoutDisks: (names: string[]) => string;

  // An image that must be unpacked first.
  packedTitle: (name: string) => string;
  /** `format` is the name of the format inside, `bytes` the size of the unpacked file, if it is known. */
  packed: (format: string, bytes: number | undefined) => string;
  unpack: string;

  // An image that takes much memory to decode.
  largeTitle: (name: string) => string;
  large: (bytes: number) => string;
  unpacking: (name: string) => string;

  // Files and passwords that an image needs.
  needsFile: (need: MissingFile) => string;
  /** The image has no name for the file, only the ID of the disk. */
  needsDisk: (need: MissingFile) => string;
  diskId: (id: string) => string;
  needsTitle: (need: MissingFile) => string;
  /** `needsTitle` if the image has no name for the file. */
  needsDiskTitle: (need: MissingFile) => string;
  needsPassword: (name: string) => string;
  chooseFor: (need: MissingFile) => string;
  chooseOther: (need: MissingFile) => string;
  needsFileHint: string;
  /** None of these files has the name of a missing file. */
  notTheFile: (names: string[]) => string;
  /** None of the files has the ID of the missing disk. */
  notTheDisk: (names: string[]) => string;
  useAllTheSame: (name: string, role: string) => string;
  /** The heading above reasons against the file `name`, which are the texts from `otherName` to `guessedRaw`. */
  doubt: (name: string, role: string) => string;
  doubtHint: string;
  useIt: string;
  otherName: (name: string, wanted: string) => string;
  probablyTheImage: (name: string) => string;
  /** The disk of a layer is smaller than the disk of the layer above it. */
  smallerLayer: (name: string, bytes: number, above: string, aboveBytes: number) => string;
  shortDataFile: (name: string, bytes: number, disk: number) => string;
  notRaw: (name: string, format: string, above: string) => string;
  /** The size is not a multiple of a sector. */
  noDisk: (name: string) => string;
  guessedRaw: (name: string) => string;
  passwordOf: (name: string) => string;
  passwordHint: string;
  unlock: string;
  unlocking: (name: string) => string;
  /** Accepts a password that cannot be checked. */
  assume: string;

  // Damaged images.
  /** Before a salvage: `bytes` are certain to be lost. */
  salvaging: (bytes: number) => string;
  /** After a salvage. */
  lost: (bytes: number, ranges: number) => string;
  lostList: string;
  /** The number of ranges that are not listed. */
  lostMore: (ranges: number) => string;
  lostRange: (range: LostRange) => string;

  // Output format, and place to save.
  /** The cost of an output of unknown size. */
  unknownCost: string;
  /** The cost of a compressed output. */
  compressedCost: string;
  /** The download cannot be resumed. */
  beginsAnew: string;
  output: string;
  /** The purpose of an output format with a `hint`. */
  outputHint: (output: OutputFormat) => string;
  /** The name of an output format in the list: short enough for a narrow window. */
  outputValue: (output: OutputFormat) => string;
  notice: (notice: Notice) => string;
  /** Why the disk cannot become `output`. */
  outputRefusal: (output: OutputFormat, refusal: NonNullable<OutputFormat['refusal']>) => string;
  /** The question above the places where the disk can run. */
  where: string;
  placeLabel: (place: { name: string; label: string }) => string;
  /** The place that was chosen last. */
  lastUsed: string;
  /** Opens the list of all places. */
  morePlaces: string;
  /** The field in which the person looks for a place; `noPlace` says that no place has the typed text in its name. */
  otherPlace: string;
  noPlace: string;
  /** `output` is the name of the format. */
  forPlace: (place: { name: string; label: string }, output: string) => string;
  /** The space that the file takes, and about how long it takes to make; empty if that is not known. */
  space: (cost: SaveCost) => string;
  about: (cost: SaveCost) => string;
  /** The image itself can be used in the place. */
  fits: (name: string, place: string) => string;
  /** Opens the format, the way to save and the name. */
  change: string;
  /** The field for a larger disk, in GB. */
  diskSizeField: string;
  /** What the empty field shows: the size of the disk in GB, rounded up. */
  diskSizeValue: (bytes: number) => string;
  verify: string;
  verifyHint: string;
  /** In place of `verifyHint`: the chosen way makes a file that cannot be read back. */
  verifyNot: string;
  smallerDisk: string;
  saveHow: string;
  fileName: string;
  noName: string;
  badName: (character: string) => string;
  controlInName: string;
  nameEnd: string;
  /** `bytes` is the length of the name in UTF-8, `most` the longest possible one. */
  longName: (bytes: number, most: number) => string;
  folderOfName: string;
  nameRefused: string;
  /** The typed name is that of a file that the queue has made. */
  nameMade: string;
  /** The browser checks the file of this name in the background. */
  nameChecked: string;
  /** The typed name ends in `end`, the extension of another output format; `extension` is that of the chosen one. */
  otherExtension: (end: string, extension: string) => string;
  /** The browser gives `name` to the download, not the name in the text field. */
  changedName: (name: string) => string;
  ways: {
    folder: string;
    dialog: string;
    download: string;
    host: string;
  };
  /** The same ways, at the end of the line that says what will be made. */
  toWay: { folder: string; dialog: string; download: string };
  /** In place of `toWay.folder`, once a folder is picked. */
  toFolder: (name: string) => string;
  pickedCost: (cost: SaveCost, disk: number) => string;
  downloadCost: (cost: SaveCost, disk: number) => string;
  folderChosen: (name: string) => string;
  otherFolder: string;
  /** The person chose the proposed way last time, or the other images of the queue have it. */
  asBefore: string;
  asInQueue: string;
  /** Files of more than `bytes` are not downloaded. */
  folderAbove: (bytes: number) => string;
  /** In a folder, the browser checks the whole file of `bytes`. */
  longCheck: (bytes: number) => string;
  storageWasFull: string;
  noPicker: string;
  foreignPicker: string;
  /** Why a frame cannot download, by the code in `targets()`. */
  frameDownload: { 'sandboxed-downloads': string; 'sandboxed-frame': string; 'foreign-frame': string };
  pickerFailed: string;
  /** The browser's storage has room for `room` bytes, or for an unknown number; also in the next two texts. */
  streamsForRoom: (room: number | undefined) => string;
  /** `obstacle` says why the download cannot be streamed; `canPick` whether a folder can be picked. */
  noRoom: (room: number | undefined, obstacle: string, canPick: boolean) => string;
  mayNotFit: (room: number | undefined) => string;
  finding: string;
  /** Follows a colon. */
  streamsNot: string;
  /** `reason` follows a colon. */
  noStream: (reason: string) => string;
  insecure: string;
  otherTab: string;
  convert: string;
  /** In place of `toWay` until a way is proposed; also describes the disabled button `convert`. */
  noWay: string;
  /** Describes that button if the person must choose a way; also shown after the reason why the selected way has become impossible. */
  chooseWay: string;
  /** A dialog of the browser is open. */
  picking: string;

  // Questions before the conversion.
  replaceTitle: (name: string, folder: string) => string;
  /** The size of the existing file, and when it was last changed. */
  replaceQuestion: (bytes: number, date: Date) => string;
  replace: string;
  /** The existing file `name` is a source of this conversion. */
  sourceTitle: (name: string) => string;
  sourceHint: string;
  saveAs: (name: string) => string;
  /** A download of this disk was interrupted at `share`. */
  goOnTitle: (share: number) => string;
  goOnQuestion: string;
  /** The button that resumes the interrupted download. */
  goOn: string;
  /** Another tab has resumed the download. */
  elsewhereTitle: string;
  elsewhereHint: string;
  /** The button that starts over; the interrupted download is discarded. */
  beginAnew: string;
  /** The browser checks a file of `bytes` at the place for hours. */
  longCheckTitle: (bytes: number) => string;
  longCheckHint: (bytes: number) => string;
  saveAnyway: string;
  /** A format without holes takes about `seconds`, if that is known. */
  quickFormat: (output: OutputFormat, seconds: number | undefined) => string;
  /** It has only the data, `bytes` if that is known; the chosen format has `whole` bytes. */
  quickFormatHint: (bytes: number | undefined, whole: number) => string;
  useFormat: (output: OutputFormat) => string;
  noFolderTitle: string;
  noFolderHint: string;
  dialogHint: string;
  dialogWarning: string;
  useDialog: string;

  /** Why something failed. */
  failure: (failed: Failed) => string;
}

/** A replacement: for a text that takes values, a function of these values or a string. */
type Replaced<T> = T extends string
  ? string
  : T extends (...values: infer V) => string
    ? string | ((...values: V) => string)
    : { [Name in keyof T]?: Replaced<T[Name]> | undefined };

/** Replacements of texts, by name. All other texts stay. */
export type Texts = Replaced<AllTexts>;
