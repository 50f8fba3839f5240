// Every text that a person reads, in English. Names of images and files are shown escaped and cut.

import { copyLifetime, shownText } from 'decant';
import type { AllTexts, SaveCost } from '../types.texts.js';
import { clause, sentence } from './sentences.js';
import { unitsOf } from './units.js';

const { size, binarySize, duration } = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });

/** A list of names; of many, the first few. */
const list = (names: string[]): string =>
  names.length > 5
    ? `${names.slice(0, 4).map(shownText).join(', ')} and ${names.length - 4} more`
    : names.map(shownText).join(', ');

/** A time that is only guessed. */
const roughly = (seconds: number): string => {
  if (seconds < 60) return 'less than a minute';
  if (seconds < 600) return 'some minutes';
  if (seconds < 3600) return 'less than an hour';
  return seconds < 86_400 ? 'some hours' : 'more than a day';
};

/** How long a choice takes, as a sentence that follows another one; empty if that is not known. */
const time = ({ seconds, atLeast, isGuess }: SaveCost): string => {
  if (seconds === undefined || (isGuess && atLeast)) return '';
  if (isGuess) return ` Probably ${roughly(seconds)}.`;
  return atLeast ? ` At least ${duration(seconds)}.` : ` About ${duration(seconds)}.`;
};

export const english: AllTexts = {
  size,

  title: 'Decant',
  tagline: 'Turns a disk image into the form you need.',
  nothingUploaded: 'In this browser: nothing is uploaded.',

  dropHere: 'Drop a disk image here',
  orPaste: 'or paste a file, or a link to one',
  choose: 'Choose a file',
  address: 'Or the address of an image on a server',
  addressFor: ({ role }) => `Or the address of the ${role} on a server`,
  openAddress: 'Open',
  noAddress: 'That is no address of a file: it begins with https:// or http://.',
  trySample: 'Try a sample image',
  help: [
    'For disk images of virtual machines: makes a raw disk of them, a VHD for Azure, or an archive for Google Cloud.',
    'Reads qcow2 with all that belongs to it, VMDK, VDI, QED and raw disks, also in a tar or a gzip file.',
    'Of any size: only a small part is in memory at a time, and in a folder that you pick, what is empty takes no space.',
  ],
  checkUploads: 'Nothing is uploaded. You can check that: turn your network off, and it works all the same.',
  dropToOpen: 'Let go to open it',
  dropToQueue: 'Let go to put it in the queue, where it waits until this one is done',
  dropToAnswer: (name) => `Let go to hand it over for ${shownText(name)}`,
  opening: (name) => `Reading ${shownText(name)}`,
  dropped: 'what you dropped',
  chosen: 'what you chose',
  noFiles: 'There was no file in what you dropped.',
  tooMany: (most) => `That was more than ${most} files. Drop the disk images that you mean.`,
  notFetched: (name) => `Could not read ${shownText(name)}; try again.`,
  aside: (names) =>
    names.length === 1
      ? `${shownText(names[0]!)} is no disk image and was left out.`
      : `No disk images, and left out: ${list(names)}.`,

  queue: 'Queue',
  queued: {
    added: (names) => `${list(names)} ${names.length === 1 ? 'waits' : 'wait'} in the queue.`,
    claimed: (names) =>
      `${list(names)} ${names.length === 1 ? 'was' : 'were'} in the queue and ${names.length === 1 ? 'belongs' : 'belong'} to this image.`,
    waiting: 'waits',
    current: 'now',
    saved: (place) => {
      const name = shownText(place.name);
      if (place.kind === 'folder') return `saved as ${name} in ${shownText(place.folder.name)}`;
      const isSaved = place.kind === 'dialog' || place.kind === 'host';
      return isSaved ? `saved as ${name}` : `converted, as the download ${name}`;
    },
    cancelled: 'cancelled',
    open: 'Open',
    remove: 'Remove',
  },

  image: 'Image',
  format: 'Format',
  virtualSize: 'Disk size',
  unknownSize: 'known when it is converted',
  fileSize: 'Image file',
  fileSizeValue: (bytes, files) => (files > 1 ? `${size(bytes)} in ${files} files` : size(bytes)),
  data: 'Data',
  layers: 'Layers',
  encryption: 'Encryption',
  encryptionValue: ({ format, luks }) =>
    luks ? `${format.toUpperCase()}, ${shownText(luks.cipher)}` : 'AES, the old method',
  snapshot: 'What to convert',
  activeDisk: 'The current state',
  snapshotValue: ({ id, name, dateSeconds }) =>
    `Snapshot ${shownText(name || id)}, ${new Date(dateSeconds * 1000).toLocaleString()}`,
  openSnapshot: 'Show this one',
  otherSnapshot: 'Another state is chosen than the one that is shown: show it first, then convert.',
  unused: (names) => `The image does not refer to ${list(names)}.`,
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
      share === undefined
        ? 'What the disk holds, as a picture'
        : `The disk as a picture, ${english.percent(share)} converted`,
    data: 'data',
    layer: (name) => `data of ${shownText(name)}`,
    compressed: 'compressed',
    empty: 'empty',
    lost: 'lost',
  },

  contents: {
    title: (table, parts) =>
      table ? `Inside: ${parts === 1 ? 'one partition' : `${parts} partitions`} (${table.kind})` : 'Inside',
    part: ({ name, type, fileSystem, size: bytes }) => {
      const what = fileSystem?.name ?? type ?? 'unknown';
      const label = fileSystem?.label ?? name;
      const called = label ? `${what} “${shownText(label)}”` : what;
      return [called, size(bytes), fileSystem && type].filter(Boolean).join(', ');
    },
    more: (parts) => `and ${parts === 1 ? 'one more' : `${parts} more`}`,
    damaged: 'The partition table is damaged. The disk is converted as it is.',
  },

  needsFile: ({ role, of }) =>
    `${shownText(of)} holds only a part of its disk. The rest is in another file, its ${role}:`,
  needsTitle: (name, role) => `${shownText(name)} needs its ${role}`,
  needsPassword: (name) => `${shownText(name)} is encrypted`,
  chooseFor: ({ role }) => `Choose the ${role}`,
  chooseOther: ({ role }) => `Choose another ${role}`,
  needsFileHint: 'Or drop it here. Nothing is opened by a name that stands in an image: you decide what is read.',
  notTheFile: (names) =>
    names.length === 1
      ? `${shownText(names[0]!)} has another name than the file that is missing.`
      : 'The missing file is not among these.',
  useAllTheSame: (name, role) => `Use ${shownText(name)} as the ${role}`,
  doubt: (name, role) => `${shownText(name)} may be the wrong ${role}`,
  doubtHint: 'A wrong file gives a disk that looks whole and is not.',
  useIt: 'Use it all the same',
  otherName: (name, wanted) => `The image asks for ${shownText(wanted)}. This file is called ${shownText(name)}.`,
  probablyTheImage: (name) => `${shownText(name)} is probably the image itself.`,
  smallerLayer: (name, bytes, above, aboveBytes) =>
    `${shownText(name)} holds a disk of ${size(bytes)}, ${shownText(above)} one of ${size(aboveBytes)}. What is missing reads as zeros. That is right if the disk was enlarged later, and wrong otherwise.`,
  shortDataFile: (name, bytes, disk) => `${shownText(name)} has ${size(bytes)}, and the disk ${size(disk)}.`,
  notRaw: (name, format, above) =>
    `${shownText(name)} is a ${format} image, but ${shownText(above)} says that it is a raw disk.`,
  noDisk: (name) => `${shownText(name)} is probably no disk: its length is no whole number of sectors.`,
  guessedRaw: (name) =>
    `${shownText(name)} is in no format that Decant knows. It would be read byte for byte, as a raw disk.`,
  passwordOf: (name) => `Password of ${shownText(name)}`,
  passwordHint: 'It stays in this tab and is forgotten when the image is closed.',
  unlock: 'Unlock',
  unlocking: (name) => `Unlocking ${shownText(name)}`,
  assume: 'I am sure of the password: go on without a check',

  salvaging: (bytes) =>
    `The image is damaged. What cannot be read becomes zeros${bytes > 0 ? `: ${size(bytes)} at least` : ''}.`,
  lost: (bytes, ranges) =>
    `${size(bytes)} in ${ranges === 1 ? 'one range' : `${ranges} ranges`} could not be read and are zeros now.`,
  lostList: 'What was lost',
  lostMore: (ranges) => `and ${ranges === 1 ? 'one more range' : `${ranges} more ranges`}, not listed`,
  lostRange: ({ start, length, reason }) => `${length} bytes at ${start}: ${reason}`,

  unknownCost: 'How much it takes is known when it is made.',
  compressedCost: 'Takes less than the disk: how much, and how long, depends on its data.',
  beginsAnew: 'A download in this way that is cut off begins anew.',
  output: 'What to make of it',
  outputValue: ({ label, hint }) => (hint ? `${hint}: ${label}` : label),
  notice: ({ code, fields: { added, unit }, message }, hasGpt) => {
    if (code !== 'disk-grows') return sentence(message);
    const grows = `The disk grows by ${size(Number(added))} of zeros: its size must be a multiple of ${binarySize(Number(unit))}.`;
    if (hasGpt === undefined) return `${grows} The backup of a GPT, if it has one, is then not at its end.`;
    return hasGpt ? `${grows} The backup of its GPT is then not at its end.` : grows;
  },
  outputRefusal: (output, refusal) => `${english.outputValue(output)} is not possible. ${english.failure(refusal)}`,
  saveHow: 'How to save it',
  fileName: 'Name for the disk',
  noName: 'The disk needs a name.',
  badName: (character) => `A file name cannot have a ${character} in it.`,
  controlInName: 'A file name cannot have control characters in it.',
  nameEnd: 'A file name cannot end with a dot or a space.',
  longName: (bytes, most) =>
    `The name is too long: it takes ${bytes} bytes, and ${most} are possible. Letters with accents take two or more.`,
  folderOfName: 'The folder that you picked has a folder of this name. Choose another name.',
  nameRefused: 'The browser does not allow this name. Choose another one.',
  ways: {
    folder: 'To a folder you pick',
    dialog: "With the browser's save dialog",
    download: 'As a download',
    host: 'To where this page saves disks',
  },
  pickedCost: (choice) => {
    const { space, atLeast } = choice;
    if (space === undefined) return 'Takes only the space of its data.';
    return `Takes ${atLeast ? 'at least ' : ''}${size(space)}, the space of its data.${time(choice)}`;
  },
  downloadCost: (choice, disk) => `Takes the full ${size(disk)}.${time(choice)}`,
  folderChosen: (name) => `Folder: ${shownText(name)}`,
  otherFolder: 'Pick another folder',
  betterTime: (seconds) => `Best for this image: about ${duration(seconds)} sooner`,
  betterSpace: (bytes, other) =>
    `Best for this image: takes ${bytes > 0 ? size(bytes) : 'no space'} instead of ${size(other)}`,
  noPicker: 'This browser cannot write to a folder you pick; Chrome and Edge can.',
  foreignPicker: 'This page lies in a page of another site; there browsers let no one pick a place.',
  frameDownload: {
    'sandboxed-downloads': 'The page around this one does not allow downloads.',
    'sandboxed-frame': 'The page around this one gives it no storage, which a download needs.',
    'foreign-frame':
      'This page lies in a page of another site; there this browser gives it no storage, which a download needs.',
  },
  pickerFailed: 'The browser does not let this page ask for a place; download it instead.',
  streamsForRoom: (room) => `${holds(room)}, so the disk goes to your downloads while it is converted.`,
  noRoom: (room, obstacle, canPick) =>
    `${holds(room)}, and it cannot be sent to the downloads bit by bit: ${clause(obstacle)}. ${canPick ? 'Save it to a folder you pick.' : 'Use Chrome or Edge, which can write to a folder you pick.'}`,
  mayNotFit: (room) => `${holds(room)}. Whether the result fits is known only when it is made.`,
  finding: 'Finding out how this browser can download it.',
  streamsNot: 'this page does not stream downloads',
  noStream: (reason) => `The download could not be started: ${reason}`,
  insecure:
    'This page is not served over https, so the browser does not let it save files. Open it over https or on localhost.',
  otherTab: 'Another tab is converting too; both will be slower.',
  convert: 'Convert',
  noWay: 'Choose how to save it, or wait until it is known which way is best.',
  picking: 'The browser asks for the place. Answer it, or close it to go on here.',

  replaceTitle: (name, folder) => `${shownText(folder)} already has a file called ${shownText(name)}`,
  replaceQuestion: 'Replace it when the new one is complete? Until then it stays as it is.',
  replace: 'Replace it',
  sourceTitle: (name) => `${shownText(name)} in that folder is the image itself, or a file that it needs`,
  sourceHint: 'It cannot be replaced by what is made of it.',
  saveAs: (name) => `Save as ${shownText(name)}`,
  goOnTitle: (share) => `${Math.floor(share * 100)} % of this disk is done already`,
  goOnQuestion: "A download of it was cut off. What was done is in the browser's storage. Go on from there?",
  goOn: 'Go on',
  beginAnew: 'Begin anew',
  noFolderTitle: 'No folder was picked',
  noFolderHint:
    'Browsers refuse some folders, such as the home folder, Desktop and Downloads. A folder inside one of them works: make a new one in the dialog.',
  dialogHint: "Or use the browser's save dialog, which can save anywhere.",
  dialogWarning:
    'It empties a file that you pick there, at once, even if you cancel later. Do not pick the image itself, or a file that you still need.',
  useDialog: "Use the browser's save dialog",

  phase: { converting: 'Converting', finishing: 'Finishing' },
  working: (phase, name) => `${phase} ${shownText(name)}`,
  percent: (share) => `${Math.floor(share * 100)} %`,
  converted: (percent) => `${percent} percent done`,
  speed: (bytesPerSecond, method) => `${size(bytesPerSecond)}/s of ${method === 'streamed' ? 'the disk' : 'data'}`,
  left: (seconds) => `about ${duration(seconds)} left`,
  leftUnknown: 'nearly done',
  silent: (seconds) =>
    `The network has brought nothing for ${duration(seconds)}. The conversion goes on by itself when it is back.`,
  silentShort: 'The network is gone. The conversion goes on when it is back.',
  waiting: ({ host, status, attempt, completing }) => {
    if (completing) return `The server ${shownText(host)} has everything and is completing the upload.`;
    if (attempt === 0)
      return `The server ${shownText(host)} has sent nothing for some seconds. It is asked again automatically.`;
    const answer = status === undefined ? 'does not answer, or breaks off' : `answers with an error (status ${status})`;
    return `The server ${shownText(host)} ${answer}. It was tried ${attempt === 1 ? 'once' : `${attempt} times`}, and is tried again by itself.`;
  },
  waitingShort: (host) => `Waiting for the server ${shownText(host)}.`,
  finishing: 'The browser checks the whole file before it hands it over. It does not tell how far it is.',
  cancel: 'Cancel',
  cancelling: 'Stopping',
  cancelWaits: 'The browser cannot be stopped while it finishes a file; the file is removed right after.',
  cancelTooLate: 'The browser cannot be stopped while it finishes a file: it will be complete.',
  wasTooLate:
    'It was cancelled when the browser was finishing the file, which cannot be stopped: the file is complete.',
  keepOpen: 'Keep this tab open.',
  notify: 'Tell me when it is done',
  notifyRefused: 'The browser does not allow this page to notify you.',

  done: 'Done',
  doneDamaged: 'Done, but the disk is damaged',
  doneSaving: 'Done converting; the browser is saving it',
  place: (place, copying) => {
    switch (place.kind) {
      case 'folder':
        return `${shownText(place.name)} is in the folder ${shownText(place.folder.name)}.`;
      case 'dialog':
        return `${shownText(place.name)} is at the place you picked.`;
      case 'host':
        return `This page has taken all of ${shownText(place.name)}.`;
      case 'streamed':
        return `The browser has all of ${shownText(place.name)}. Its list of downloads shows when it is complete.`;
      case 'stored':
        return `The browser is copying ${shownText(place.name)} to your downloads${copying && copying >= 2 ? `, probably for ${roughly(copying)}` : ''}. Its list of downloads shows when that is complete. Keep this tab open until then.`;
    }
  },
  copied: (name) =>
    `The browser has copied ${shownText(name)} to your downloads. Its list of downloads shows whether that is complete.`,
  copyKept: (bytes) =>
    `${size(bytes)} in the browser's storage, which it needs to save the file. It is removed automatically, in about ${duration(copyLifetime(bytes) / 1000)} or when the page is next opened.`,
  details: 'Details',
  facts: {
    disk: 'Disk',
    written: 'Written',
    time: 'Time in all',
    converting: 'Of it converting',
    copy: 'Copy',
    method: 'Way',
    engine: 'Worked on by',
    threads: 'Threads',
  },
  writtenValue: (result, method) =>
    method === 'picked' && result.holeBytes > 0
      ? `${size(result.bytesWritten)}; ${size(result.holeBytes)} are holes that take no space`
      : size(method === 'host' ? result.bytesWritten : result.outputSize),
  timeValue: (seconds) => (seconds < 1 ? 'less than a second' : duration(seconds)),
  convertingValue: (seconds, speed, method) =>
    speed === undefined ? english.timeValue(seconds) : `${english.timeValue(seconds)}, ${english.speed(speed, method)}`,
  methodValue: {
    picked: 'written to the place that you picked, with holes',
    stored: "written to the browser's storage, then copied to the downloads",
    streamed: 'sent to the downloads while it was converted',
    host: 'handed over to this page',
  },
  engineValue: ({ engine, workers }) =>
    engine === 'threads' ? `${workers} threads that share memory` : workers === 1 ? 'one worker' : `${workers} workers`,
  notIsolated: 'This page shares no memory between threads, which its server would have to allow. Workers need none.',
  convertAnother: 'Convert another image',

  failed: 'That did not work',
  failure: ({ code, message, fields }) =>
    // What the package says is for programs, too: `format`.
    (fields.file === undefined && byButton[code]) || sentence(fields.reason ?? message),
  notOpened: (name) => `${shownText(name)} could not be opened`,
  notConverted: (name) => `${shownText(name)} could not be converted`,
  cancelled: 'Cancelled.',
  nothingLeft: 'Nothing was left behind.',
  partKept: "What was done is kept in the browser's storage for a week. To go on from there, convert the image again.",
  streamLeft: (name) =>
    `The browser's list of downloads shows that ${shownText(name)} has failed. If it kept a part of it, that is no whole disk.`,
  asItWas: (name) => `${shownText(name)} is as it was before.`,
  emptyLeft: (name) => `An empty file ${shownText(name)} was left where you picked it; nothing else.`,
  fileLeft: (name) => `Look at ${shownText(name)} before you use it: it may not be what it was, nor a whole disk.`,
  folderMoved: (folder, name, swap, replaces) =>
    replaces
      ? `The folder ${shownText(folder)} was moved, renamed or removed. ${shownText(name)} in it is as it was before; delete ${shownText(swap)} beside it.`
      : `The folder ${shownText(folder)} was moved, renamed or removed. Delete ${shownText(name)} and ${shownText(swap)} in it: neither is a whole disk.`,
  fileMoved: (name, swap) =>
    `${shownText(name)}, or the folder where you picked it, was moved, renamed or removed. Delete it and ${shownText(swap)} beside it: neither is a whole disk.`,
  unknownLeft: (name) => `Whether something was left at ${shownText(name)} cannot be seen from here.`,
  next: {
    raw: 'Read it as a raw disk',
    salvage: 'Salvage what can be read',
    again: 'Try again',
    saveAgain: 'Back to the image',
    filesAgain: 'Choose the files it needs again',
    next: 'Go on with the next one',
    another: 'Choose another file',
  },
};

/** Failures that a step of the page helps after. */
const byButton: Partial<Record<string, string>> = {
  'state-format': 'The file is in no disk image format that can be recognised. If it is a raw disk, read it as one.',
  'not-a-disk':
    'What it holds is in no disk image format that can be recognised, and does not look like a raw disk: it has neither a partition table nor a known file system, and its size is not a multiple of 512 bytes. If it is one, unpack it first.',
};

/** The beginning of a sentence: what the private storage takes, which is less than the disk. */
const holds = (room: number | undefined): string => {
  if (room === undefined) return 'This window cannot keep all of it';
  return `This window can keep ${room > 0 ? `about ${size(room)}` : 'next to nothing'}, which is less than the disk`;
};
