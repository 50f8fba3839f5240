// The English texts. Names of images and files are shown escaped and cut.

import { shownText } from 'decant';
import type { AllTexts, Failed } from '../../types.texts.js';
import { found, listOf, ofDisk } from '../sentences.js';
import { clause, commaSeparated, firmwareName, sentence } from '../wording.js';
import {
  about,
  checking,
  downloadCost,
  exactSize,
  gigabytes,
  holds,
  percent,
  pickedCost,
  roughly,
  size,
  space,
  units,
} from './amounts.js';
import { englishResults } from './results.js';
import { englishErrors, englishNotices } from './sentences.js';

/** The name of a file's role for people. */
const role = (name: string): string => (name === 'extent' ? 'other part' : name);

/** Says how to resume the conversion of an image from `link`. */
function resuming(link: string | undefined): string {
  if (link === undefined) return 'To resume, open the same file or link again.';
  if (link === '') return 'Its image came from a link. To resume, enter the same link again.';
  return `Resume opens its link again: ${shownText(link)}`;
}

/** Codes whose sentence names the file in the field `file`. */
const OF_FILE = ['ambiguous-file', 'missing-file'];

const list = (names: readonly string[]): string => listOf(names, (more) => `and ${more} more`);

const [errors, notices] = [englishErrors(units), englishNotices(units)];

const failure = ({ kind, code, message, fields }: Failed): string => {
  const known = found(errors, code, fields, kind);
  if (known === undefined) return sentence(fields.reason ?? message);
  const isOfOther = fields.file !== undefined && !OF_FILE.includes(code);
  return ofDisk(fields, isOfOther ? `${shownText(fields.file)}: ${known}` : known);
};

export const english: AllTexts = {
  size,

  title: 'Decant',
  tagline: 'Converts virtual disks.',
  nothingUploaded: 'Nothing is uploaded.',

  dropHere: 'Drop a disk image',
  fromTo: 'qcow2, VMDK, VDI, VHD, OVA → any cloud',
  allFormats: 'All formats',
  takes: (inputs) => `${inputs.join(', ')}, also in OVA or zip`,
  makes: (outputs) => `→ ${outputs.join(', ')}`,
  choose: 'Choose a file',
  fromLink: 'From a link',
  address: 'Link to an image',
  addressFor: (need) => `Link to the ${role(need.role)}`,
  openAddress: 'Open',
  noAddress: 'Enter a link that begins with https:// or http://.',
  trySample: 'Try a sample',
  interrupted: (name, bytes, share, link) =>
    `The conversion of ${shownText(name)} was interrupted${share === undefined ? '' : ` at ${percent(share)}`}. It takes ${size(bytes)} of this browser's storage. ${resuming(link)}`,
  discard: 'Discard',
  storageFreed: (bytes) => `${size(bytes)} of this browser's storage are free again.`,
  notResumed: (name) => `Nothing can be resumed for ${shownText(name)}: it has changed, or it is another file.`,
  fileInterrupted: (name, file, folder) =>
    `The conversion of ${shownText(name)} was interrupted. ${shownText(file)}${folder === undefined ? '' : ` in the folder ${shownText(folder)}`} may be left empty or incomplete.`,
  downloadLost: (name, file) =>
    `The conversion of ${shownText(name)} was interrupted, and its download ${shownText(file)} is lost. A partial file in your downloads can be deleted.`,
  dismiss: 'Dismiss',
  removeFile: (file) => `Remove ${shownText(file)}`,
  fileRemoved: (file) => `${shownText(file)} was removed.`,
  fileStays: (file) => `${shownText(file)} is not empty, so it was not removed: check whether it is complete.`,
  fileNotRemoved: (file) => `The browser does not let this page remove ${shownText(file)}. Delete it yourself.`,
  badge: 'Stays on this computer · works offline · open source',
  proof: 'Is it safe?',
  checkUploads: 'Nothing is uploaded. Turn your network off: it still works.',
  dropToOpen: 'Drop to open it',
  dropToQueue: 'Drop to add it to the queue',
  dropToAnswer: (name) => `Drop to use it for ${shownText(name)}`,
  opening: (name) => `Reading ${shownText(name)}`,
  slow: 'This is slow: a disk or a server does not respond.',
  dropped: 'the dropped files',
  chosen: 'the chosen files',
  noFiles: 'No files were found.',
  tooMany: (most) => `More than ${most} files. Add only the disk images.`,
  notFetched: (name) => `Could not read ${shownText(name)}; try again.`,
  noImages: (names) =>
    `None of these files is a disk image: ${list(names)}. Add one instead, such as a .qcow2, .vmdk, .vdi or .vhdx file.`,
  aside: (names) => `Skipped, not a disk image: ${list(names)}.`,
  held: (names) =>
    `Set aside for the VM with a missing disk: ${list(names)}. They may be its older states. To convert one, add it alone.`,

  queue: 'Queue',
  convertAll: (images) => `Convert all ${images}`,
  convertDisks: (disks) => `Convert all ${disks} disks`,
  convertDisk: 'Convert only this disk',
  allDone: (done, all) => `${done} of ${all} converted`,
  notAll: (names) => `Not converted: ${list(names)}.`,
  someDamaged: (names) => `Converted, but damaged: ${list(names)}.`,
  queued: {
    added: (names) => `Added to the queue: ${list(names)}.`,
    claimed: (names) => `Taken from the queue, for this image: ${list(names)}.`,
    removed: (name) => `Removed from the queue: ${shownText(name)}.`,
    waiting: 'waiting',
    current: 'open now',
    saved: (place, bytes) => {
      const name = shownText(place.name);
      const where = place.kind === 'folder' ? ` in ${shownText(place.folder.name)}` : '';
      const isSaved = place.kind !== 'stored' && place.kind !== 'streamed';
      return `${isSaved ? `saved as ${name}${where}` : `converted; see ${name} in your downloads`}, ${size(bytes)}`;
    },
    commands: 'Commands and details',
    cancelled: 'cancelled',
    open: 'Open',
    remove: 'Remove',
    salvage: 'Salvage',
  },

  image: 'Image',
  format: 'Format',
  virtualSize: 'Disk size',
  unknownSize: 'not known yet',
  fileSize: 'Image file',
  fileSizeValue: (bytes, files) => (files > 1 ? `${size(bytes)} in ${files} files` : size(bytes)),
  data: 'Data',
  layers: 'Layers',
  machine: 'Virtual machine',
  encryption: 'Encryption',
  diskDigest: 'SHA-256 of the disk',
  computeDiskDigest: 'Compute the SHA-256 of the disk',
  diskDigestHint: 'Covers all bytes that the guest reads: the same in every format, unless the disk is enlarged.',
  encryptionValue: ({ format, luks }) =>
    luks ? `${format.toUpperCase()}${luks.version}, ${shownText(luks.cipher)}` : 'AES (legacy)',
  snapshot: 'State of the disk',
  activeDisk: 'Current state',
  snapshotValue: ({ id, name, date }) => `Snapshot ${shownText(name || id)}, ${new Date(date * 1000).toLocaleString()}`,
  unused: (names) => `Not used: ${list(names)}.`,
  formatValue: (info) =>
    commaSeparated(
      info.format,
      info.version && `version ${info.version}`,
      info.clusterSize && `units of ${exactSize(info.clusterSize)}`,
      ...info.containers.map(({ name }) => `in ${name}`),
    ),
  dataCounting: (bytes) => `${size(bytes)} so far`,
  dataValue: (bytes, compressed) => {
    if (compressed === 0) return size(bytes);
    return `${size(bytes)}, ${compressed > bytes * 0.95 ? 'nearly all' : size(compressed)} of it compressed`;
  },

  picture: {
    label: (share) =>
      share === undefined ? 'Picture of the disk' : `Picture of the disk, ${percent(share)} converted`,
    data: 'data',
    layer: (name) => `data from ${shownText(name)}`,
    compressed: 'compressed',
    empty: 'empty',
    lost: 'lost',
    cell: (offset, content, part, layer) =>
      commaSeparated(
        `at ${size(offset)}: ${content === 'unknown' ? 'not read yet' : english.picture[content]}`,
        part && english.contents.part(part),
        layer && shownText(layer),
      ),
    table: { caption: 'Parts of the disk', part: 'Part', start: 'Begins at', data: 'With data' },
  },

  contents: {
    title: (table, parts) =>
      table ? `On this disk: ${parts === 1 ? 'one partition' : `${parts} partitions`} (${table.kind})` : 'On this disk',
    part: ({ name, type, fileSystem, length }) => {
      const what = fileSystem?.name ?? type ?? 'unknown';
      const label = fileSystem?.label ?? name;
      const called = label ? `${what} “${shownText(label)}”` : what;
      return commaSeparated(called, size(length), fileSystem && type);
    },
    more: (parts) => `and ${parts === 1 ? 'one more' : `${parts} more`}`,
    firmware: (found) => `The system on this disk boots with ${found.map(firmwareName).join(' or ')}.`,
    damaged: 'The partition table is damaged; the disk is converted as it is.',
  },

  disksTitle: (name, count) => `${shownText(name)} contains ${count === 1 ? 'one disk' : `${count} disks`}`,
  disksQuestion: 'Which disks do you want to convert?',
  noDiskTitle: (name) => `No file in ${shownText(name)} looks like a disk`,
  noDiskQuestion: 'If some of them are raw disks, which ones do you want to convert?',
  diskMissing: 'its file is missing',
  diskSize: (bytes) => `a disk of ${size(bytes)}`,
  disksMissing: (count) => `Drop or choose the missing ${count === 1 ? 'file' : 'files'}.`,
  useAsDisk: (name, disk) => `Use ${shownText(name)} as ${shownText(disk)}`,
  noDiskChosen: 'Choose at least one disk.',
  openDisks: 'Continue',
  joinDisks: (disks) => `All ${disks} disks in one OVA`,
  diskInOva: 'Only this disk in an OVA',
  separateDisks: 'A file for each disk',
  joined: (disks) => `${disks} disks`,
  withoutDisks: (names) =>
    `Not in the OVA, because ${names.length === 1 ? 'its file is' : 'their files are'} missing: ${list(names)}.`,

  packedTitle: (name) => `${shownText(name)} must be unpacked first`,
  packed: (format, bytes) =>
    `The ${shownText(format)} inside is unpacked into this browser's storage${bytes === undefined ? '' : `, ${size(bytes)}`}, then removed.`,
  unpack: 'Unpack',

  largeTitle: (name) => `${shownText(name)} needs much memory`,
  large: (bytes) =>
    `To decompress this file, the browser needs ${size(bytes)} of memory. If there is less, the tab may be closed. Other tabs and programs may become slow.`,
  unpacking: (name) => `Unpacking ${shownText(name)}`,

  needsFile: ({ of, name }) => `${shownText(of)} holds a part of the disk. The rest is in ${shownText(name)}.`,
  needsDisk: ({ of }) =>
    `${shownText(of)} holds only the changes since a snapshot. The rest is in another file of the same machine: drop the machine's whole folder.`,
  diskId: (id) => `ID of that disk: ${shownText(id)}`,
  needsTitle: ({ fileName }) => `Also add ${shownText(fileName)}`,
  needsDiskTitle: ({ of }) => `${shownText(of)} needs another file`,
  needsPassword: (name) => `${shownText(name)} is encrypted`,
  chooseFor: (need) => `Choose the ${role(need.role)}`,
  chooseOther: (need) => `Choose another ${role(need.role)}`,
  needsFileHint: 'Or drop it here: only files that you choose are read.',
  notTheFile: (names) => `${list(names)} ${names.length === 1 ? 'does' : 'do'} not match the missing file's name.`,
  notTheDisk: (names) => `Not the missing disk: ${list(names)}.`,
  useAllTheSame: (name, wanted) => `Use ${shownText(name)} as the ${role(wanted)}`,
  doubt: (name, wanted) => `${shownText(name)} may be the wrong ${role(wanted)}`,
  doubtHint: 'With a wrong file, the disk looks whole but is corrupt.',
  useIt: 'Use it anyway',
  otherName: (name, wanted) => `The image asks for ${shownText(wanted)}, not ${shownText(name)}.`,
  probablyTheImage: (name) => `${shownText(name)} is probably the image itself.`,
  smallerLayer: (name, bytes, above, aboveBytes) =>
    `The disk in ${shownText(name)} has ${size(bytes)}, the disk in ${shownText(above)} has ${size(aboveBytes)}. Zeros fill the difference, which is right only if ${shownText(above)} was enlarged.`,
  shortDataFile: (name, bytes, disk) => `${shownText(name)} has ${size(bytes)}, the disk ${size(disk)}.`,
  notRaw: (name, format, above) => `${shownText(name)} is ${format}, but ${shownText(above)} expects a raw disk.`,
  noDisk: (name) => `${shownText(name)} is probably not a disk: its size is not a multiple of 512\u00a0bytes.`,
  guessedRaw: (name) => `${shownText(name)} has no known format. It would be read as a raw disk.`,
  passwordOf: (name) => `Password for ${shownText(name)}`,
  passwordHint: 'It stays in this tab.',
  unlock: 'Unlock',
  unlocking: (name) => `Unlocking ${shownText(name)}`,
  assume: 'The password is right: continue unchecked',

  salvaging: (bytes) => `Damaged: unreadable parts become zeros${bytes > 0 ? `, at least ${size(bytes)}` : ''}.`,
  lost: (bytes, ranges) =>
    `${size(bytes)} in ${ranges === 1 ? 'one range' : `${ranges} ranges`} were unreadable and became zeros, or may be wrong.`,
  lostList: 'Lost parts of the disk',
  lostMore: (ranges) => `and ${ranges} more`,
  lostRange: ({ disk, offset, length, message }) =>
    `${disk === undefined ? '' : `Disk ${disk}, `}${length}\u00a0bytes at ${offset}: ${message}`,

  unknownCost: 'Its size is known only at the end.',
  compressedCost: 'Compressed; the size depends on the data.',
  beginsAnew: 'If interrupted, it must start over.',
  output: 'Output format',
  outputHint: ({ hint = '' }) => hint,
  outputValue: ({ label }) => label,
  notice: ({ code, fields, message }) => {
    const known = found(notices, code, fields);
    return known === undefined ? sentence(message) : ofDisk(fields, known);
  },
  outputRefusal: ({ label, hint }, refusal) =>
    `${hint ? `${hint}: ${label}` : label} is not possible. ${failure(refusal)}`,
  where: 'Where will it run?',
  placeLabel: ({ name, label }) => (name === 'raw' ? 'Raw disk' : shownText(label)),
  lastUsed: 'last used',
  morePlaces: 'More…',
  otherPlace: 'Find a place',
  noPlace: 'No place has this name.',
  forPlace: (place, output) => (place.name === 'raw' ? output : `${output} for ${english.placeLabel(place)}`),
  space,
  about,
  fits: (name, place) => `Nothing to convert: ${shownText(name)} already fits (${shownText(place)}).`,
  change: 'Change',
  saveHow: 'Where to save it',
  diskSizeField: 'Larger disk, in GB',
  diskSizeValue: gigabytes,
  verify: 'Verify',
  verifyHint: 'Reads the result back and compares it with the disk.',
  verifyNot: 'A file that is downloaded while converting cannot be read back.',
  smallerDisk: 'A disk can only become larger. Leave the field empty to keep its size.',
  fileName: 'File name',
  noName: 'Enter a file name.',
  badName: (character) => `A file name cannot contain ${character}`,
  controlInName: 'A file name cannot contain control characters.',
  nameEnd: 'A file name cannot end with a dot or a space.',
  longName: (bytes, most) =>
    `The name is ${bytes}\u00a0bytes long, but at most ${most} are allowed. Accented letters count as two or more.`,
  folderOfName: 'That folder contains a folder of this name. Choose another name.',
  nameRefused: 'The browser refuses this name. Choose another.',
  nameMade: 'This queue has already made a file with this name. Choose another name.',
  nameChecked: 'The browser is still checking a file with this name. Choose another name.',
  otherExtension: (end, extension) => `The name ends in ${end}, but the format's files end in ${extension}.`,
  changedName: (name) => `The browser will call it ${shownText(name)}.`,
  ways: {
    folder: 'To a folder you pick',
    dialog: "With the browser's save dialog",
    download: 'As a download',
    host: 'Let this page save it',
  },
  toWay: { folder: 'to a folder you pick', dialog: "with the browser's save dialog", download: 'to your downloads' },
  toFolder: (name) => `to the folder ${shownText(name)}`,
  pickedCost,
  downloadCost,
  folderChosen: (name) => `Folder: ${shownText(name)}`,
  otherFolder: 'Pick another folder',
  asBefore: 'As you chose last time.',
  asInQueue: 'As for the other images of the queue.',
  folderAbove: (bytes) => `Files of more than ${size(bytes)} go to a folder: there, empty parts take no space.`,
  longCheck: (bytes) =>
    `In a folder, the browser would check all ${size(bytes)} at the end, empty parts included: ${checking(bytes)}.`,
  storageWasFull: "A download has failed because the browser's storage was full.",
  noPicker: 'This browser cannot write to folders; Chrome and Edge can.',
  foreignPicker: 'Browsers do not let a page that is embedded in another site ask for a place.',
  frameDownload: {
    'sandboxed-downloads': 'The surrounding page allows no downloads.',
    'sandboxed-frame': 'The surrounding page allows no storage, which a download needs.',
    'foreign-frame':
      'A download needs storage, and this browser gives none to a page that is embedded in another site.',
  },
  pickerFailed: 'The browser does not let this page ask for a place.',
  streamsForRoom: (room) => `${holds(room)}, so the disk is downloaded while it is converted.`,
  noRoom: (room, obstacle, canPick) =>
    `${holds(room)}, and it cannot be downloaded while it is converted: ${clause(obstacle)}. ${canPick ? 'Save it to a folder.' : 'Use Chrome or Edge, which can write to folders.'}`,
  mayNotFit: (room) => `${holds(room)}. Whether the result fits is known at the end.`,
  finding: 'Checking how to download it.',
  streamsNot: 'this page does not stream downloads',
  noStream: (reason) => `The download could not be started: ${reason}`,
  insecure: 'Browsers let a page save files only over https or on localhost.',
  otherTab: 'Another tab is converting too: both are slower.',
  convert: 'Convert',
  noWay: 'checking where to save it',
  chooseWay: 'Choose where to save it.',
  picking: "Pick a place in the browser's dialog.",

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
  elsewhereTitle: 'Another tab has resumed this download',
  elsewhereHint: 'The finished part is there. Here it can only start over.',
  beginAnew: 'Start over',
  longCheckTitle: (bytes) => `At the end, the browser checks the file for ${checking(bytes)}`,
  longCheckHint: (bytes) =>
    `It checks all ${size(bytes)}, empty parts included, and shows no progress. Only quitting the browser stops it.`,
  saveAnyway: 'Save it there',
  quickFormat: (output, seconds) =>
    `${english.outputValue(output)} ${seconds === undefined ? 'is quicker' : `takes ${roughly(seconds)}`}`,
  quickFormatHint: (bytes, whole) =>
    `It has only the data${bytes === undefined ? '' : `, ${size(bytes)}`}. A raw disk has all ${size(whole)}.`,
  useFormat: (output) => `Use ${english.outputValue(output)}`,
  noFolderTitle: 'No folder was picked',
  noFolderHint:
    'Browsers refuse some, such as the home folder, Desktop and Downloads. In the dialog, create a folder inside one of them.',
  dialogHint: "Or use the browser's save dialog: it saves anywhere.",
  dialogWarning: 'Pick no file that you need: the browser empties it at once, even if you cancel.',
  useDialog: "Use the browser's save dialog",
  ...englishResults,
  failure,
};
