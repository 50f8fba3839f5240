// The English texts from the start of a conversion on.

import { shownText } from 'decant';
import type { ResultTexts } from '../../types.texts-results.js';
import { commaSeparated } from '../wording.js';
import { duration, percent, roughly, size, speed, timeValue } from './amounts.js';

export const englishResults: ResultTexts = {
  phase: { converting: 'Converting', finishing: 'Finishing', verifying: 'Verifying' },
  working: (phase, name) => `${phase} ${shownText(name)}`,
  share: percent,
  converted: (share) => `${Math.round(share * 100)} percent done`,
  compared: (share) => `${Math.round(share * 100)} percent compared`,
  speed,
  left: (seconds) => `about ${duration(seconds)} left`,
  leftUnknown: 'nearly done',
  silent: (seconds) => `No data from the network for ${duration(seconds)}; the conversion resumes automatically.`,
  silentShort: 'The network is down; the conversion resumes automatically.',
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
  finishing: 'The browser checks the whole file, and does not report progress.',
  mayClose: (name) =>
    `Convert another image or close this tab, but keep the browser open until it has completed ${shownText(name)}.`,
  quitToStop: (name, replaces) =>
    `To stop it, quit the browser: ${shownText(name)} is then ${replaces ? 'unchanged' : 'an empty file'}.`,
  background: 'In the background',
  checking: (seconds, secondsLeft) =>
    `the browser is checking the file: ${duration(seconds)} so far${secondsLeft === undefined ? '' : `, about ${duration(secondsLeft)} left`}`,
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
  verified: {
    'read-back': 'Verified: every byte of the disk was read back and compared.',
    checksums: 'Verified: the checksums of the server match the bytes that were sent.',
  },
  tableMoved: 'The disk is larger now: its partition table was moved to the new end. All else is unchanged.',
  madeIn: (place) => {
    switch (place.kind) {
      case 'folder':
        return `in the folder ${shownText(place.folder.name)}`;
      case 'dialog':
        return 'in the place you picked';
      case 'host':
        return 'received by this page';
      case 'streamed':
      case 'stored':
        return 'in your downloads';
    }
  },
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
  copyKept: (bytes, seconds) =>
    `${size(bytes)} in the browser's storage, removed in about ${duration(seconds)} or when the page is next opened`,
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
      ? `${size(result.bytesWritten)}, and ${size(result.holeBytes)} of holes`
      : size(method === 'host' ? result.bytesWritten : result.outputSize),
  timeValue,
  convertingValue: (seconds, bytesPerSecond, method) =>
    commaSeparated(timeValue(seconds), bytesPerSecond !== undefined && speed(bytesPerSecond, method)),
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
  convertAnother: 'Convert another image',
  nextStep: (place, shell) => `Next, for ${place}${shell === 'powershell' ? ', in PowerShell' : ''}`,
  fromStep: (placeholder, step) => `${placeholder}: from step ${step}`,
  copy: 'Copy',
  copyAll: 'Copy all',
  compute: 'Compute its SHA-256',
  computing: 'Computing the SHA-256',
  copyDone: 'Copied.',
  copyFailed: 'The browser does not let this page copy: select the text.',

  failed: 'That did not work',
  isRaw: (name) => `Is ${shownText(name)} a raw disk?`,
  notOpened: (name) => `${shownText(name)} could not be opened`,
  notConverted: (name) => `${shownText(name)} could not be converted`,
  cancelled: 'Cancelled.',
  nothingLeft: 'Nothing was left behind.',
  partKept: 'The finished part is kept for a week. To resume, convert the image again.',
  stillStored: (bytes) =>
    `${size(bytes)} are still in the browser's storage. It frees them as soon as it can, at the latest when the page is next opened.`,
  streamLeft: (name) =>
    `The download of ${shownText(name)} was not completed. If the browser kept a part, delete it: it is not a whole disk.`,
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
  unknownLeft: (name) => `Something may be left at ${shownText(name)}.`,
  next: {
    raw: 'Read it as a raw disk',
    salvage: 'Salvage the readable parts',
    again: 'Try again',
    saveAgain: 'Back to the image',
    filesAgain: 'Choose the files it needs again',
    editLink: 'Edit the link',
    next: 'Open the next image',
    another: 'Choose another file',
  },
};
