// All English texts of the element. Names of images and files are shown escaped and cut.

import { copyLifetime, shownText } from 'decant';
import type { AllTexts, SaveCost } from '../types.texts.js';
import { clause, sentence } from './sentences.js';
import { LEAST_ROOM, unitsOf } from './units.js';

const { size, binarySize, duration } = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });

/** Lists `names`; of more than five, the first four. */
const list = (names: string[]): string =>
  names.length > 5
    ? `${names.slice(0, 4).map(shownText).join(', ')} and ${names.length - 4} more`
    : names.map(shownText).join(', ');

/** A time that is only estimated. */
const roughly = (seconds: number): string => {
  if (seconds < 60) return 'less than a minute';
  if (seconds < 600) return 'a few minutes';
  if (seconds < 3600) return 'less than an hour';
  return seconds < 86_400 ? 'a few hours' : 'more than a day';
};

/** A sentence about the time, after another sentence; empty if the time is unknown. */
const time = ({ seconds, atLeast, isGuess }: SaveCost): string => {
  if (seconds === undefined || (isGuess && atLeast)) return '';
  if (isGuess) return ` Probably ${roughly(seconds)}.`;
  return atLeast ? ` At least ${duration(seconds)}.` : ` About ${duration(seconds)}.`;
};

export const english: AllTexts = {
  size,

  title: 'Decant',
  tagline: 'Converts a disk image into the format you need.',
  nothingUploaded: 'Runs in this browser: nothing is uploaded.',

  dropHere: 'Drop a disk image here',
  orPaste: 'or paste a file or a link',
  choose: 'Choose a file',
  address: 'Or enter a link to an image',
  addressFor: ({ role }) => `Or enter a link to the ${role}`,
  openAddress: 'Open',
  noAddress: 'Enter a link that begins with https:// or http://.',
  trySample: 'Try a sample image',
  help: [
    'Makes a raw disk, qcow2, VMDK, a VHD for Azure or an archive for Google Cloud from the disk of a virtual machine.',
    'Reads qcow2 (all features), VMDK, VDI, VHD, VHDX, QED, LUKS and raw disks, also inside tar, OVA, zip, gzip, xz, zstd and bzip2 files.',
    'Images can be of any size: only a small part is in memory at a time. In a folder that you pick, empty parts of the disk take no space.',
  ],
  checkUploads: 'Nothing is uploaded. You can check this: turn off your network, and it still works.',
  dropToOpen: 'Drop to open it',
  dropToQueue: 'Drop to add it to the queue, where it waits until this image is done',
  dropToAnswer: (name) => `Drop to use it for ${shownText(name)}`,
  opening: (name) => `Reading ${shownText(name)}`,
  slow: 'This takes longer than usual: the file, a disk or a server does not respond. You can cancel and try again.',
  dropped: 'the dropped files',
  chosen: 'the chosen files',
  noFiles: 'No files were found.',
  tooMany: (most) => `That is more than ${most} files. Add only the disk images.`,
  notFetched: (name) => `Could not read ${shownText(name)}; try again.`,
  aside: (names) =>
    names.length === 1
      ? `${shownText(names[0]!)} is not a disk image and was skipped.`
      : `These are not disk images and were skipped: ${list(names)}.`,

  held: (names) =>
    `Kept for the virtual machine, which lacks the file of a disk: ${list(names)}. These may be older states of it. To convert them as they are, add them alone.`,

  queue: 'Queue',
  queued: {
    added: (names) => `${list(names)} ${names.length === 1 ? 'was' : 'were'} added to the queue.`,
    claimed: (names) =>
      `${list(names)} ${names.length === 1 ? 'was' : 'were'} taken from the queue, since this image needs ${names.length === 1 ? 'it' : 'them'}.`,
    removed: (name) => `${shownText(name)} was removed from the queue.`,
    waiting: 'waiting',
    current: 'open now',
    saved: (place) => {
      const name = shownText(place.name);
      if (place.kind === 'folder') return `saved as ${name} in ${shownText(place.folder.name)}`;
      const isSaved = place.kind === 'dialog' || place.kind === 'host';
      return isSaved ? `saved as ${name}` : `converted; see ${name} in your downloads`;
    },
    cancelled: 'cancelled',
    open: 'Open',
    remove: 'Remove',
  },

  image: 'Image',
  format: 'Format',
  virtualSize: 'Disk size',
  unknownSize: 'known only after converting',
  fileSize: 'Image file',
  fileSizeValue: (bytes, files) => (files > 1 ? `${size(bytes)} in ${files} files` : size(bytes)),
  data: 'Data',
  layers: 'Layers',
  encryption: 'Encryption',
  encryptionValue: ({ format, luks }) =>
    luks ? `${format.toUpperCase()}${luks.version}, ${shownText(luks.cipher)}` : 'AES (legacy)',
  snapshot: 'State of the disk',
  activeDisk: 'Current state',
  snapshotValue: ({ id, name, dateSeconds }) =>
    `Snapshot ${shownText(name || id)}, ${new Date(dateSeconds * 1000).toLocaleString()}`,
  openSnapshot: 'Open this state',
  otherSnapshot: 'The chosen state is not open yet. Open it, then convert.',
  unused: (names) => `The image does not use ${list(names)}.`,
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

  picture: {
    label: (share) =>
      share === undefined ? 'Picture of the disk' : `Picture of the disk, ${english.percent(share)} converted`,
    data: 'data',
    layer: (name) => `data from ${shownText(name)}`,
    compressed: 'compressed',
    empty: 'empty',
    lost: 'lost',
  },

  contents: {
    title: (table, parts) =>
      table ? `On this disk: ${parts === 1 ? 'one partition' : `${parts} partitions`} (${table.kind})` : 'On this disk',
    part: ({ name, type, fileSystem, size: bytes }) => {
      const what = fileSystem?.name ?? type ?? 'unknown';
      const label = fileSystem?.label ?? name;
      const called = label ? `${what} “${shownText(label)}”` : what;
      return [called, size(bytes), fileSystem && type].filter(Boolean).join(', ');
    },
    more: (parts) => `and ${parts === 1 ? 'one more' : `${parts} more`}`,
    damaged: 'The partition table is damaged. The disk is converted unchanged.',
  },

  disksTitle: (name, count) => `${shownText(name)} contains ${count === 1 ? 'one disk' : `${count} disks`}`,
  disksQuestion: 'Which disks do you want to convert?',
  diskMissing: 'its file is missing',
  disksMissing: (count) =>
    `Drop the missing ${count === 1 ? 'file' : 'files'} here, or choose ${count === 1 ? 'it' : 'them'}.`,
  useAsDisk: (name, disk) => `Use ${shownText(name)} as ${shownText(disk)}`,
  noDiskChosen: 'Choose at least one disk.',
  openDisks: 'Continue',

  packedTitle: (name) => `${shownText(name)} must be unpacked first`,
  packed: (format, bytes) =>
    `To read the ${shownText(format)} inside, Decant unpacks the file into this browser's storage, and removes it afterwards. This takes ${bytes === undefined ? 'as much space as the unpacked file' : `${size(bytes)} of space`}.`,
  unpack: 'Unpack',
  unpacking: (name) => `Unpacking ${shownText(name)}`,

  needsFile: ({ role, of }) =>
    `${shownText(of)} holds only a part of the disk. The rest is in its ${role}, another file:`,
  needsTitle: (name, role) => `${shownText(name)} needs its ${role}`,
  needsPassword: (name) => `${shownText(name)} is encrypted`,
  chooseFor: ({ role }) => `Choose the ${role}`,
  chooseOther: ({ role }) => `Choose another ${role}`,
  needsFileHint: 'Or drop it here. An image cannot open files by itself: only files that you choose are read.',
  notTheFile: (names) =>
    names.length === 1
      ? `${shownText(names[0]!)} does not have the name of the missing file.`
      : 'The missing file is not among these.',
  useAllTheSame: (name, role) => `Use ${shownText(name)} as the ${role}`,
  doubt: (name, role) => `${shownText(name)} may be the wrong ${role}`,
  doubtHint: 'With a wrong file, the disk looks complete but is corrupt.',
  useIt: 'Use it anyway',
  otherName: (name, wanted) => `The image asks for ${shownText(wanted)}. This file is called ${shownText(name)}.`,
  probablyTheImage: (name) => `${shownText(name)} is probably the image itself.`,
  smallerLayer: (name, bytes, above, aboveBytes) =>
    `The disk in ${shownText(name)} has ${size(bytes)}, the disk in ${shownText(above)} has ${size(aboveBytes)}. The rest reads as zeros, which is right only if the disk was enlarged later.`,
  shortDataFile: (name, bytes, disk) => `${shownText(name)} has only ${size(bytes)}, but the disk has ${size(disk)}.`,
  notRaw: (name, format, above) =>
    `${shownText(name)} is a ${format} image, but ${shownText(above)} expects a raw disk.`,
  noDisk: (name) => `${shownText(name)} is probably not a disk: its size is not a multiple of 512 bytes.`,
  guessedRaw: (name) =>
    `Decant does not recognise the format of ${shownText(name)}. It would be read byte for byte, as a raw disk.`,
  passwordOf: (name) => `Password for ${shownText(name)}`,
  passwordHint: 'It stays in this tab and is forgotten when the image is closed.',
  unlock: 'Unlock',
  unlocking: (name) => `Unlocking ${shownText(name)}`,
  assume: 'I am sure of the password: continue without a check',

  salvaging: (bytes) =>
    `The image is damaged. Unreadable parts become zeros${bytes > 0 ? `: at least ${size(bytes)}` : ''}.`,
  lost: (bytes, ranges) =>
    `${size(bytes)} in ${ranges === 1 ? 'one range' : `${ranges} ranges`} could not be read and became zeros.`,
  lostList: 'Lost parts of the disk',
  lostMore: (ranges) => `and ${ranges === 1 ? 'one more range' : `${ranges} more ranges`}, not listed`,
  lostRange: ({ start, length, reason }) => `${length} bytes at ${start}: ${reason}`,

  unknownCost: 'The size is known only after converting.',
  compressedCost: 'Usually takes less space than the disk. Size and time depend on its data.',
  beginsAnew: 'If this download is interrupted, it must start over.',
  output: 'Output format',
  outputHint: ({ hint = '' }) => hint,
  outputValue: ({ label }) => label,
  notice: ({ code, fields: { added, unit }, message }, hasGpt) => {
    if (code !== 'disk-grows') return sentence(message);
    const grows = `${size(Number(added))} of zeros are added at the end: the size of the disk must be a multiple of ${binarySize(Number(unit))}.`;
    if (hasGpt === undefined) return `${grows} If the disk has a GPT, its backup is then no longer at the end.`;
    return hasGpt ? `${grows} The backup of the GPT is then no longer at the end.` : grows;
  },
  outputRefusal: (output, refusal) => {
    const value = english.outputValue(output);
    const named = output.hint ? `${english.outputHint(output)}: ${value}` : value;
    return `${named} is not possible. ${english.failure(refusal)}`;
  },
  saveHow: 'Where to save it',
  fileName: 'File name',
  noName: 'Enter a file name.',
  badName: (character) => `The character ${character} is not possible in a file name.`,
  controlInName: 'A file name cannot contain control characters.',
  nameEnd: 'A file name cannot end with a dot or a space.',
  longName: (bytes, most) =>
    `The name has ${bytes} bytes, and at most ${most} are possible. Letters with accents count as two or more.`,
  folderOfName: 'The folder that you picked contains a folder with this name. Choose another name.',
  nameRefused: 'The browser does not allow this name. Choose another name.',
  otherExtension: (end, extension) => `The name ends in ${end}, but files of the chosen format end in ${extension}.`,
  changedName: (name) => `The browser will change this name to ${shownText(name)}.`,
  ways: {
    folder: 'To a folder you pick',
    dialog: "With the browser's save dialog",
    download: 'As a download',
    host: 'Let this page save it',
  },
  pickedCost: (choice) => {
    const { space, atLeast } = choice;
    if (space === undefined) return 'Only data takes space.';
    return `Takes ${atLeast ? 'at least ' : ''}${size(space)}: only data takes space.${time(choice)}`;
  },
  downloadCost: (choice, disk) => `Takes the full size of the disk, ${size(disk)}.${time(choice)}`,
  folderChosen: (name) => `Folder: ${shownText(name)}`,
  otherFolder: 'Pick another folder',
  betterTime: (seconds) => `Best for this image: about ${duration(seconds)} faster`,
  betterSpace: (bytes, other) =>
    `Best for this image: takes ${bytes > 0 ? size(bytes) : 'no space'} instead of ${size(other)}`,
  noPicker: 'This browser cannot write to a folder you pick; Chrome and Edge can.',
  foreignPicker: 'This page is embedded in a page of another site, where browsers do not let you pick a place.',
  frameDownload: {
    'sandboxed-downloads': 'The page that embeds this one does not allow downloads.',
    'sandboxed-frame': 'The page that embeds this one does not allow it storage, which a download needs.',
    'foreign-frame':
      'This page is embedded in a page of another site, where this browser does not allow it storage, which a download needs.',
  },
  pickerFailed: 'The browser does not let this page ask for a place. Download the disk instead.',
  streamsForRoom: (room) => `${holds(room)}, so the disk is downloaded while it is converted.`,
  noRoom: (room, obstacle, canPick) =>
    `${holds(room)}, and it cannot be downloaded while it is converted: ${clause(obstacle)}. ${canPick ? 'Save it to a folder you pick.' : 'Use Chrome or Edge, which can write to a folder you pick.'}`,
  mayNotFit: (room) => `${holds(room)}. Whether the result fits is known only after converting.`,
  finding: 'Checking how this browser can download it.',
  streamsNot: 'this page does not stream downloads',
  noStream: (reason) => `The download could not be started: ${reason}`,
  insecure:
    'This page is not served over https, so the browser does not let it save files. Open it over https or on localhost.',
  otherTab: 'Another tab is converting too; both will be slower.',
  convert: 'Convert',
  noWay: 'Choose where to save it, or wait for a suggestion.',
  chooseWay: 'Choose where to save it.',
  picking: "Pick a place in the browser's dialog, or close the dialog to return here.",

  replaceTitle: (name, folder) => `${shownText(folder)} already has a file called ${shownText(name)}`,
  replaceQuestion: 'Replace it? It stays unchanged until the new file is complete.',
  replace: 'Replace it',
  sourceTitle: (name) => `${shownText(name)} in that folder is the image itself, or a file that it needs`,
  sourceHint: 'The result cannot replace it.',
  saveAs: (name) => `Save as ${shownText(name)}`,
  goOnTitle: (share) => `${Math.floor(share * 100)} % of this disk is already converted`,
  goOnQuestion:
    "An earlier download was interrupted. The finished part is in the browser's storage. Resume from there?",
  goOn: 'Resume',
  beginAnew: 'Start over',
  elsewhereTitle: 'Another tab has resumed this download',
  elsewhereHint: 'It has the finished part, which stays there. Here, the conversion can only start over.',
  noFolderTitle: 'No folder was picked',
  noFolderHint:
    'Browsers refuse some folders, such as the home folder, Desktop and Downloads. A folder inside one works: create one in the dialog.',
  dialogHint: "Or use the browser's save dialog, which can save anywhere.",
  dialogWarning:
    'Do not pick the image or a file that you still need: the browser empties it at once, even if you cancel later.',
  useDialog: "Use the browser's save dialog",

  phase: { converting: 'Converting', finishing: 'Finishing' },
  working: (phase, name) => `${phase} ${shownText(name)}`,
  percent: (share) => `${Math.floor(share * 100)} %`,
  converted: (percent) => `${percent} percent done`,
  speed: (bytesPerSecond, method) => `${size(bytesPerSecond)}/s of ${method === 'streamed' ? 'the disk' : 'data'}`,
  left: (seconds) => `about ${duration(seconds)} left`,
  leftUnknown: 'nearly done',
  silent: (seconds) =>
    `No data has come from the network for ${duration(seconds)}. The conversion resumes automatically when the network is back.`,
  silentShort: 'The network is down. The conversion resumes when it is back.',
  stalled: (seconds) =>
    `Nothing has been converted for ${duration(seconds)}. If that does not change, cancel and convert again: the files of this page may have been removed from the browser's storage, or a disk or server does not respond.`,
  stalledShort: 'The conversion makes no progress. You can cancel it and convert again.',
  waiting: ({ host, status, attempt, completing, offline }) => {
    if (offline) return 'This device is offline. Decant tries again automatically.';
    if (completing) return `The server ${shownText(host)} has received everything and is completing the upload.`;
    if (attempt === 0)
      return `The server ${shownText(host)} has sent nothing for some seconds. The request is repeated automatically.`;
    const answer =
      status === undefined ? 'does not answer or breaks the connection' : `answers with an error (status ${status})`;
    return `The server ${shownText(host)} ${answer}. ${attempt === 1 ? 'One attempt' : `${attempt} attempts`} so far; Decant tries again automatically.`;
  },
  waitingShort: ({ host, offline }) =>
    offline ? 'This device is offline.' : `Waiting for the server ${shownText(host)}.`,
  finishing: 'The browser checks the whole file before it saves it. It does not report how far it is.',
  cancel: 'Cancel',
  cancelling: 'Stopping',
  cancelWaits: 'The browser cannot be stopped while it finishes a file. The file is removed right afterwards.',
  cancelTooLate: 'Too late to cancel: the browser is finishing the file, and the file will be complete.',
  wasTooLate: 'It was too late to cancel: the file is complete.',
  keepOpen: 'Keep this tab open.',
  notify: 'Notify me when it is done',
  notifyRefused: 'The browser does not allow this page to notify you.',

  done: 'Done',
  doneDamaged: 'Done, but the disk is damaged',
  doneSaving: 'Done converting; the browser is saving it',
  place: (place, copying) => {
    switch (place.kind) {
      case 'folder':
        return `${shownText(place.name)} is in the folder ${shownText(place.folder.name)}.`;
      case 'dialog':
        return `${shownText(place.name)} was saved in the place you picked.`;
      case 'host':
        return `This page has received all of ${shownText(place.name)}.`;
      case 'streamed':
        return `The browser has received all of ${shownText(place.name)}. Its list of downloads shows when the file is complete.`;
      case 'stored':
        return `The browser is copying ${shownText(place.name)} to your downloads${copying && copying >= 2 ? `, which probably takes ${roughly(copying)}` : ''}. Its list of downloads shows when the file is complete. Keep this tab open until then.`;
    }
  },
  copied: (name) =>
    `The browser has copied ${shownText(name)} to your downloads. Its list of downloads shows whether the file is complete.`,
  copyKept: (bytes) =>
    `${size(bytes)} in the browser's storage, which it needs to save the file. It is removed automatically, in about ${duration(copyLifetime(bytes) / 1000)} or when the page is next opened.`,
  details: 'Details',
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
      ? `${size(result.bytesWritten)}; another ${size(result.holeBytes)} are empty and take no space`
      : size(method === 'host' ? result.bytesWritten : result.outputSize),
  timeValue: (seconds) => (seconds < 1 ? 'less than a second' : duration(seconds)),
  convertingValue: (seconds, speed, method) =>
    speed === undefined ? english.timeValue(seconds) : `${english.timeValue(seconds)}, ${english.speed(speed, method)}`,
  methodValue: {
    picked: 'writing to the place that you picked, without empty parts',
    stored: "writing to the browser's storage, then copying to the downloads",
    streamed: 'downloading while converting',
    host: 'this page',
  },
  engineValue: ({ engine, workers }) =>
    engine === 'threads'
      ? `${workers} threads with shared memory`
      : workers === 1
        ? 'one worker'
        : `${workers} workers`,
  notIsolated: 'Not used: the server of this page does not allow shared memory. Workers do not need it.',
  convertAnother: 'Convert another image',

  failed: 'That did not work',
  failure: ({ code, message, fields }) =>
    // Messages of the package mention options for programs, such as `format`.
    (fields.file === undefined && byButton[code]) || sentence(fields.reason ?? message),
  notOpened: (name) => `${shownText(name)} could not be opened`,
  notConverted: (name) => `${shownText(name)} could not be converted`,
  cancelled: 'Cancelled.',
  nothingLeft: 'Nothing was left behind.',
  partKept: "The finished part is kept in the browser's storage for a week. To resume, convert the image again.",
  streamLeft: (name) =>
    `The browser's list of downloads shows that ${shownText(name)} has failed. If the browser kept a part of the file, that part is not a complete disk.`,
  asItWas: (name) => `${shownText(name)} is unchanged.`,
  emptyLeft: (name) => `Only an empty file was left in the place you picked: ${shownText(name)}.`,
  fileLeft: (name) => `Check ${shownText(name)} before you use it: it may be changed or incomplete.`,
  fileInFolderLeft: (folder, name, swap) =>
    `Check ${shownText(name)} before you use it: it may be changed or incomplete. If you moved the folder ${shownText(folder)} and another one took its name, delete ${shownText(swap)} in the one you moved, and ${shownText(name)} if it is empty.`,
  folderMoved: (folder, name, swap, replaces) =>
    replaces
      ? `The folder ${shownText(folder)} was moved, renamed or removed. ${shownText(name)} in it is unchanged. Delete ${shownText(swap)} beside it.`
      : `The folder ${shownText(folder)} was moved, renamed or removed. Delete ${shownText(name)} and ${shownText(swap)} in it: neither is a complete disk.`,
  fileMoved: (name, swap) =>
    `${shownText(name)}, or the folder where you picked it, was moved, renamed or removed. Delete it and ${shownText(swap)} beside it: neither is a complete disk.`,
  unknownLeft: (name) => `This page cannot see whether something was left at ${shownText(name)}.`,
  next: {
    raw: 'Read it as a raw disk',
    salvage: 'Salvage the readable parts',
    again: 'Try again',
    saveAgain: 'Back to the image',
    filesAgain: 'Choose the files it needs again',
    next: 'Open the next image',
    another: 'Choose another file',
  },
};

/** Failures for which the element offers a step. */
const byButton: Partial<Record<string, string>> = {
  'state-format': 'The format of the file is not recognised. If it is a raw disk, read it as one.',
  'not-a-disk':
    'Decant does not recognise the format of the content, and it does not look like a raw disk: no partition table, no known file system, and a size that 512 does not divide. If it is a raw disk, unpack it first.',
};

/** The beginning of a sentence: the private storage has less room than the disk needs. */
const holds = (room: number | undefined): string => {
  if (room === undefined) return 'This window cannot store all of it';
  return `This window can store ${room > 0 ? `about ${size(room)}` : `less than ${size(LEAST_ROOM)}`}, which is less than the disk`;
};
