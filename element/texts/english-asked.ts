// The English texts of steps that ask something, of details, of results and of remains: they load with the code that shows them.

import { copyLifetime, shownText } from 'decant';
import type { AllTexts, SaveCost } from '../types.texts.js';
import { about, binarySize, duration, failure, percent, size, speed } from './english-words.js';
import { isLongCheck } from './units.js';

/** A sentence about the time, after another sentence; empty if the time is unknown. */
const time = (cost: SaveCost): string =>
  about(cost).replace(/^(.)(.*)/, (_, first, rest) => ` ${first.toUpperCase()}${rest}.`);

const timeValue = (seconds: number): string => (seconds < 1 ? 'less than a second' : duration(seconds));

export const englishAsked = {
  address: 'Link to an image',
  addressFor: ({ role }) => `Link to the ${role}`,
  openAddress: 'Open',
  interrupted: (name, bytes) =>
    `The conversion of ${shownText(name)} was interrupted. Open it again to resume. The finished part takes ${size(bytes)} of this browser's storage.`,
  freeStorage: (bytes) => `Free ${size(bytes)}`,
  storageFreed: (bytes) => `${size(bytes)} of this browser's storage are free again.`,
  fileInterrupted: (name, file, folder) =>
    `The conversion of ${shownText(name)} was interrupted. ${shownText(file)}${folder === undefined ? '' : ` in the folder ${shownText(folder)}`} may be left empty or incomplete.`,
  removeFile: (file) => `Remove ${shownText(file)}`,
  fileRemoved: (file) => `${shownText(file)} was removed.`,
  fileStays: (file) => `${shownText(file)} is not empty, and stays: check whether it is complete.`,
  fileNotRemoved: (file) => `The browser does not let this page remove ${shownText(file)}. Delete it yourself.`,

  queue: 'Queue',

  format: 'Format',
  virtualSize: 'Disk size',
  unknownSize: 'known at the end',
  fileSize: 'Image file',
  fileSizeValue: (bytes, files) => (files > 1 ? `${size(bytes)} in ${files} files` : size(bytes)),
  data: 'Data',
  layers: 'Layers',
  machine: 'Virtual machine',
  encryption: 'Encryption',
  encryptionValue: ({ format, luks }) =>
    luks ? `${format.toUpperCase()}${luks.version}, ${shownText(luks.cipher)}` : 'AES (legacy)',
  snapshot: 'State of the disk',
  activeDisk: 'Current state',
  snapshotValue: ({ id, name, dateSeconds }) =>
    `Snapshot ${shownText(name || id)}, ${new Date(dateSeconds * 1000).toLocaleString()}`,
  formatValue: (info) =>
    [
      info.format,
      info.version && `version ${info.version}`,
      info.clusterSize && `units of ${binarySize(info.clusterSize)}`,
      ...info.containers.map(({ name }) => `in ${name}`),
    ]
      .filter(Boolean)
      .join(', '),
  dataCounting: (bytes) => `${size(bytes)} so far`,
  dataValue: (bytes, compressed) => {
    if (compressed === 0) return size(bytes);
    return `${size(bytes)}, ${compressed > bytes * 0.95 ? 'nearly all' : size(compressed)} of it compressed`;
  },

  disksTitle: (name, count) => `${shownText(name)} contains ${count === 1 ? 'one disk' : `${count} disks`}`,
  disksQuestion: 'Which disks do you want to convert?',
  noDiskTitle: (name) => `No file in ${shownText(name)} looks like a disk`,
  noDiskQuestion: 'If some of them are raw disks, which ones do you want to convert?',
  diskMissing: 'its file is missing',
  disksMissing: (count) => `Drop or choose the missing ${count === 1 ? 'file' : 'files'}.`,
  useAsDisk: (name, disk) => `Use ${shownText(name)} as ${shownText(disk)}`,
  openDisks: 'Continue',

  packedTitle: (name) => `${shownText(name)} must be unpacked first`,
  packed: (format, bytes) =>
    `The ${shownText(format)} inside is unpacked into this browser's storage${bytes === undefined ? '' : `, ${size(bytes)}`}, then removed.`,
  unpack: 'Unpack',

  largeTitle: (name) => `${shownText(name)} needs much memory`,
  large: (bytes) =>
    `To decompress this file, the browser needs ${size(bytes)} of memory. If there is less, the tab may be closed. Other tabs and programs may become slow.`,

  needsFile: ({ role, of }) => `${shownText(of)} holds a part of the disk. The rest is in its ${role}:`,
  needsDisk: ({ of }) =>
    `${shownText(of)} holds only the changes since a snapshot. The rest is in another file of the same machine: drop the machine's whole folder.`,
  diskId: (id) => `ID of that disk: ${shownText(id)}`,
  needsTitle: (name, role) => `${shownText(name)} needs its ${role}`,
  needsPassword: (name) => `${shownText(name)} is encrypted`,
  chooseFor: ({ role }) => `Choose the ${role}`,
  chooseOther: ({ role }) => `Choose another ${role}`,
  needsFileHint: 'Or drop it here: only files that you choose are read.',
  useAllTheSame: (name, role) => `Use ${shownText(name)} as the ${role}`,
  doubt: (name, role) => `${shownText(name)} may be the wrong ${role}`,
  doubtHint: 'With a wrong file, the disk looks whole but is corrupt.',
  useIt: 'Use it anyway',
  otherName: (name, wanted) => `The image asks for ${shownText(wanted)}, not ${shownText(name)}.`,
  shortDataFile: (name, bytes, disk) => `${shownText(name)} has ${size(bytes)}, the disk ${size(disk)}.`,
  notRaw: (name, format, above) => `${shownText(name)} is ${format}, but ${shownText(above)} expects a raw disk.`,
  noDisk: (name) => `${shownText(name)} is probably not a disk: its size is not a multiple of 512 bytes.`,
  guessedRaw: (name) => `${shownText(name)} has no known format. It would be read as a raw disk.`,
  passwordOf: (name) => `Password for ${shownText(name)}`,
  passwordHint: 'It stays in this tab.',
  unlock: 'Unlock',
  assume: 'The password is right: continue unchecked',

  lostList: 'Lost parts of the disk',
  lostMore: (ranges) => `and ${ranges} more`,
  lostRange: ({ start, length, reason }) => `${length} bytes at ${start}: ${reason}`,

  unknownCost: 'Its size is known at the end.',
  compressedCost: 'Compressed; the size depends on the data.',
  beginsAnew: 'If interrupted, it must start over.',
  output: 'Output format',
  outputHint: ({ hint = '' }) => hint,
  outputRefusal: ({ label, hint }, refusal) =>
    `${hint ? `${hint}: ${label}` : label} is not possible. ${failure(refusal)}`,
  saveHow: 'Where to save it',
  fileName: 'File name',
  pickedCost: (choice, disk) => {
    const { space, atLeast } = choice;
    const takes = time(choice).replace(
      /\.$/,
      isLongCheck(choice, disk) ? `: the browser checks all ${size(disk)}.` : '.',
    );
    if (!space) return space === 0 && !atLeast ? `Takes almost no space.${takes}` : 'Only data takes space.';
    return `Takes ${atLeast ? 'at least ' : ''}${size(space)}, the size of its data.${takes}`;
  },
  downloadCost: (choice, disk) => `Takes the full ${size(disk)}.${time(choice)}`,
  folderChosen: (name) => `Folder: ${shownText(name)}`,
  otherFolder: 'Pick another folder',
  betterTime: (seconds) => `Best here: about ${duration(seconds)} faster`,
  betterSpace: (bytes, other) => `Best here: takes ${bytes > 0 ? size(bytes) : 'no space'} instead of ${size(other)}`,

  foreignPicker: 'Browsers do not let a page inside a page of another site pick a place.',
  frameDownload: {
    'sandboxed-downloads': 'The surrounding page allows no downloads.',
    'sandboxed-frame': 'The surrounding page allows no storage, which a download needs.',
    'foreign-frame': 'This browser gives no storage to a page inside a page of another site, and a download needs it.',
  },

  replaceTitle: (name, folder) => `${shownText(folder)} already has a file called ${shownText(name)}`,
  replaceQuestion: (bytes, date) =>
    `${bytes === 0 ? 'It is empty' : `It has ${size(bytes)}`}, last changed ${date.toLocaleString()}. It stays unchanged until the new file is complete.`,
  replace: 'Replace it',
  sourceTitle: (name) => `${shownText(name)} in that folder is the image itself, or part of it`,
  sourceHint: 'The result cannot replace it.',
  saveAs: (name) => `Save as ${shownText(name)}`,
  goOnTitle: (share) => `${percent(share)} of this disk is already converted`,
  goOnQuestion: "A download was interrupted; that part is in the browser's storage.",
  goOn: 'Resume',
  beginAnew: 'Start over',
  elsewhereTitle: 'Another tab has resumed this download',
  elsewhereHint: 'The finished part is there. Here it can only start over.',
  noFolderTitle: 'No folder was picked',
  noFolderHint:
    'Browsers refuse some, such as the home folder, Desktop and Downloads. Create one inside, in the dialog.',
  dialogHint: "Or use the browser's save dialog: it saves anywhere.",
  dialogWarning: 'Pick no file that you need: the browser empties it at once, even if you cancel.',
  useDialog: "Use the browser's save dialog",

  copyKept: (bytes) =>
    `${size(bytes)} in the browser's storage, removed in about ${duration(copyLifetime(bytes) / 1000)} or when the page is next opened`,
  facts: {
    disk: 'Disk',
    written: 'Written',
    time: 'Total time',
    converting: 'Conversion time',
    copy: 'Temporary copy',
    method: 'Saved by',
    engine: 'Engine',
    threads: 'Threads',
  },
  writtenValue: (result, method) =>
    method === 'picked' && result.holeBytes > 0
      ? `${size(result.bytesWritten)}, and ${size(result.holeBytes)} of holes`
      : size(method === 'host' ? result.bytesWritten : result.outputSize),
  timeValue,
  convertingValue: (seconds, bytesPerSecond, method) =>
    [timeValue(seconds), bytesPerSecond !== undefined && speed(bytesPerSecond, method)].filter(Boolean).join(', '),
  methodValue: {
    picked: 'writing only data to the place you picked',
    stored: "writing to the browser's storage, then copying",
    streamed: 'downloading while converting',
    host: 'this page',
  },
  engineValue: ({ engine, workers }) =>
    engine === 'threads'
      ? `${workers} threads with shared memory`
      : workers === 1
        ? 'one worker'
        : `${workers} workers`,
  notIsolated: 'not used: the server of this page does not allow shared memory',
  nextStep: (place, shell) => `Next, for ${place}${shell === 'powershell' ? ', in PowerShell' : ''}`,
  replaceWords: (words) => `Replace ${words.join(', ')} with your own.`,
  virtio: 'Windows on this disk may need virtio drivers to start there.',
  copy: 'Copy',
  compute: 'Compute its SHA-256',
  computing: 'Computing the SHA-256',

  partKept: 'The finished part is kept for a week. To resume, convert the image again.',
  stillStored: (bytes) =>
    `${size(bytes)} are still in the browser's storage. It frees them as soon as it can, at the latest when the page is next opened.`,
  streamLeft: (name) =>
    `The download of ${shownText(name)} was not completed. A part that the browser kept is not a whole disk.`,
  asItWas: (name) => `${shownText(name)} is unchanged.`,
  emptyLeft: (name) => `An empty file was left: ${shownText(name)}.`,
  fileLeft: (name) => `${shownText(name)} may be changed or incomplete.`,
  fileInFolderLeft: (folder, name, swap) =>
    `${shownText(name)} may be changed or incomplete. If you moved the folder ${shownText(folder)} and another took its name, delete ${shownText(swap)} in the one you moved, and ${shownText(name)} if it is empty.`,
  folderMoved: (folder, name, swap, replaces) =>
    replaces
      ? `The folder ${shownText(folder)} was moved, renamed or removed. ${shownText(name)} in it is unchanged; delete ${shownText(swap)} beside it.`
      : `The folder ${shownText(folder)} was moved, renamed or removed. Delete ${shownText(name)} and ${shownText(swap)} in it: neither is a complete disk.`,
  fileMoved: (name, swap) =>
    `${shownText(name)}, or the folder where you picked it, was moved, renamed or removed. Delete it and ${shownText(swap)} beside it: neither is a complete disk.`,
} satisfies Partial<AllTexts>;
