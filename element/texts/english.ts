// The English texts of a first conversion; those of `english-asked.ts` load later. Names of images and files are shown escaped and cut.

import { shownText } from 'decant';
import type { AllTexts, SaveCost } from '../types.texts.js';
import type { englishAsked } from './english-asked.js';
import { about, binarySize, duration, failure, list, percent, roughly, size, speed } from './english-words.js';
import { clause, sentence } from './sentences.js';
import { LEAST_ROOM } from './units.js';

/** The texts that are always loaded: in English, some load with the steps that show them. */
export type FirstTexts = Omit<AllTexts, keyof typeof englishAsked>;

const space = ({ space: bytes, atLeast }: SaveCost): string =>
  bytes ? `${atLeast ? 'at least ' : ''}${size(bytes)}` : '';

export const english: FirstTexts = {
  size,

  title: 'Decant',
  tagline: 'Converts virtual disks.',
  nothingUploaded: 'Nothing is uploaded.',

  dropHere: 'Drop a disk image here',
  takes: (inputs) => `${inputs.join(', ')}, also in OVA or zip`,
  makes: (outputs) => `→ ${outputs.join(', ')}`,
  choose: 'Choose a file',
  fromLink: 'From a link',
  noAddress: 'Enter a link that begins with https:// or http://.',
  trySample: 'Try a sample image',
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
  aside: (names) => `Skipped, not a disk image: ${list(names)}.`,

  held: (names) =>
    `Set aside for the VM with a missing disk: ${list(names)}. They may be its older states. To convert one, add it alone.`,

  convertAll: (images) => `Convert all ${images}`,
  allDone: (done, all) => `${done} of ${all} converted`,
  notAll: (names) => `Not converted: ${list(names)}.`,
  someDamaged: (names) => `Converted, but damaged: ${list(names)}.`,
  queued: {
    added: (names) => `Added to the queue: ${list(names)}.`,
    claimed: (names) => `Taken from the queue, for this image: ${list(names)}.`,
    removed: (name) => `Removed from the queue: ${shownText(name)}.`,
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
    salvage: 'Salvage',
  },

  image: 'Image',
  unused: (names) => `Not used: ${list(names)}.`,

  picture: {
    label: (share) =>
      share === undefined ? 'Picture of the disk' : `Picture of the disk, ${percent(share)} converted`,
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
    firmware: (found) => `The system on this disk boots with ${found.join(' or ')}.`,
    damaged: 'The partition table is damaged; the disk is converted as it is.',
  },

  noDiskChosen: 'Choose at least one disk.',

  unpacking: (name) => `Unpacking ${shownText(name)}`,

  notTheFile: (names) => `${list(names)} ${names.length === 1 ? 'does' : 'do'} not match the missing file's name.`,
  notTheDisk: (names) => `Not the missing disk: ${list(names)}.`,
  probablyTheImage: (name) => `${shownText(name)} is probably the image itself.`,
  smallerLayer: (name, bytes, above, aboveBytes) =>
    `The disk in ${shownText(name)} has ${size(bytes)}, that in ${shownText(above)} ${size(aboveBytes)}. The rest is zeros: right only if the disk was enlarged later.`,
  unlocking: (name) => `Unlocking ${shownText(name)}`,

  salvaging: (bytes) => `Damaged: unreadable parts become zeros${bytes > 0 ? `, at least ${size(bytes)}` : ''}.`,
  lost: (bytes, ranges) =>
    `${size(bytes)} in ${ranges === 1 ? 'one range' : `${ranges} ranges`} were unreadable and became zeros, or may be wrong.`,

  outputValue: ({ label }) => label,
  notice: ({ code, fields: { added, unit, size: bytes }, message }, hasGpt) => {
    if (code === 'huge') return `The disk has ${size(Number(bytes))}, far more than its file.`;
    if (code !== 'disk-grows') return sentence(message);
    const grows = `${size(Number(added))} of zeros are added at the end, to a multiple of ${binarySize(Number(unit))}.`;
    if (hasGpt === undefined) return `${grows} A backup GPT is then no longer at the end.`;
    return hasGpt ? `${grows} The backup GPT is then no longer at the end.` : grows;
  },
  where: 'Where will it run?',
  placeLabel: ({ name, label }) => (name === 'raw' ? 'Raw disk' : shownText(label)),
  otherPlace: 'Other place',
  noPlace: 'No place has this name.',
  forPlace: (place, output) => (place.name === 'raw' ? output : `${output} for ${english.placeLabel(place)}`),
  estimate: (cost) => [space(cost), about(cost)].filter(Boolean).join(' · '),
  fits: (name, place) => `Nothing to convert: ${shownText(name)} already fits (${shownText(place)}).`,
  change: 'Change',
  noName: 'Enter a file name.',
  badName: (character) => `A file name cannot contain ${character}`,
  controlInName: 'A file name cannot contain control characters.',
  nameEnd: 'A file name cannot end with a dot or a space.',
  longName: (bytes, most) => `The name has ${bytes} bytes of at most ${most}; accented letters count as two or more.`,
  folderOfName: 'That folder contains a folder of this name. Choose another name.',
  nameRefused: 'The browser refuses this name. Choose another.',
  nameMade: 'Another image of this queue has become a file of this name. Choose another name.',
  otherExtension: (end, extension) => `The name ends in ${end}, but the format's files end in ${extension}.`,
  changedName: (name) => `The browser will call it ${shownText(name)}.`,
  ways: {
    folder: 'To a folder you pick',
    dialog: "With the browser's save dialog",
    download: 'As a download',
    host: 'Let this page save it',
  },
  noPicker: 'This browser cannot write to folders; Chrome and Edge can.',
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
  noWay: 'Checking where to save it.',
  chooseWay: 'Choose where to save it.',
  picking: "Pick a place in the browser's dialog.",

  phase: { converting: 'Converting', finishing: 'Finishing' },
  working: (phase, name) => `${phase} ${shownText(name)}`,
  percent,
  converted: (percent) => `${percent} percent done`,
  speed,
  left: (seconds) => `about ${duration(seconds)} left`,
  leftUnknown: 'nearly done',
  silent: (seconds) => `No data from the network for ${duration(seconds)}; it resumes automatically.`,
  silentShort: 'The network is down; it resumes automatically.',
  stalled: (seconds) =>
    `No progress for ${duration(seconds)}: a disk or server does not respond, or this page's files were removed. If this lasts, cancel and convert again.`,
  stalledShort: 'No progress. Cancel and convert again.',
  waiting: ({ host, status, attempt, completing, offline }) => {
    if (offline) return 'This device is offline. Decant tries again.';
    if (completing) return `The server ${shownText(host)} has received everything and completes the upload.`;
    if (attempt === 0) return `The server ${shownText(host)} sends nothing. Decant tries again.`;
    const answer =
      status === undefined ? 'does not answer or breaks the connection' : `answers with an error (status ${status})`;
    return `The server ${shownText(host)} ${answer}. ${attempt === 1 ? 'One attempt' : `${attempt} attempts`} so far; Decant tries again.`;
  },
  waitingShort: ({ host, offline }) =>
    offline ? 'This device is offline.' : `Waiting for the server ${shownText(host)}.`,
  finishing: 'The browser checks the whole file, and does not say how far it is.',
  cancel: 'Cancel',
  cancelling: 'Stopping',
  cancelWaits: 'The browser cannot be stopped now; the file is removed afterwards.',
  cancelTooLate: 'Too late to cancel: the file will be complete.',
  wasTooLate: 'Too late to cancel: the file is complete.',
  keepOpen: 'Keep this tab open.',
  notify: 'Notify me when it is done',
  notifyRefused: 'The browser does not allow notifications.',

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
        return `The browser has received all of ${shownText(place.name)}. Its downloads show when it is complete.`;
      case 'stored':
        return `The browser is copying ${shownText(place.name)} to your downloads${copying && copying >= 2 ? `, probably ${roughly(copying)}` : ''}. Keep this tab open until it is complete there.`;
    }
  },
  copied: (name) => `The browser has copied ${shownText(name)} to your downloads: check that it is complete.`,
  details: 'Details',
  convertAnother: 'Convert another image',
  copyDone: 'Copied.',
  copyFailed: 'The browser does not let this page copy: select the text.',

  failed: 'That did not work',
  failure,
  isRaw: (name) => `Is ${shownText(name)} a raw disk?`,
  notOpened: (name) => `${shownText(name)} could not be opened`,
  notConverted: (name) => `${shownText(name)} could not be converted`,
  cancelled: 'Cancelled.',
  nothingLeft: 'Nothing was left behind.',
  unknownLeft: (name) => `Something may be left at ${shownText(name)}.`,
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

/** The beginning of a sentence: the private storage has less room than the disk needs. */
const holds = (room: number | undefined): string => {
  if (room === undefined) return 'This window cannot store the disk';
  return `This window can store ${room > 0 ? `about ${size(room)}` : `less than ${size(LEAST_ROOM)}`}, which is less than the disk`;
};
