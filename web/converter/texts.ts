// Every text that a person reads on the page.

import type { Info, LostRange, Need, Phase, Result, Snapshot } from 'decant';
import { binarySize, duration, size } from './units.js';

export const texts = {
  title: 'Decant',
  tagline: 'Turns a qcow2 disk image into a raw disk. In this browser: nothing is uploaded.',

  dropHere: 'Drop a disk image here',
  dropNow: 'Let go to open it',
  orPaste: 'or paste a file',
  choose: 'Choose a file',
  trySample: 'Try a sample image',
  sampleName: 'sample.qcow2',
  opening: (name: string) => `Reading ${name}`,
  whichFile: 'Which one shall be converted?',
  whichFileHint: 'Decant converts one image at a time. The others are read where it refers to them.',
  dropped: 'what you dropped',
  noFiles: 'There was no file in what you dropped.',
  notFetched: (name: string) => `Could not read ${name}; try again.`,

  image: 'Image',
  format: 'Format',
  virtualSize: 'Disk size',
  fileSize: 'Image file',
  data: 'Data',
  layers: 'Layers',
  encryption: 'Encryption',
  encryptionValue: ({ format, luks }: NonNullable<Info['encryption']>) =>
    luks ? `${format.toUpperCase()}, ${luks.cipher}` : 'AES, the old method',
  snapshot: 'What to convert',
  activeDisk: 'The current state',
  snapshotValue: ({ id, name, dateSeconds }: Snapshot) =>
    `Snapshot ${name || id}, ${new Date(dateSeconds * 1000).toLocaleString()}`,
  unused: (names: string[]) => `The image does not refer to ${names.join(', ')}.`,
  formatValue: (info: Info) =>
    [
      info.format,
      info.version && `version ${info.version}`,
      info.clusterSize && `${binarySize(info.clusterSize)} clusters`,
    ]
      .filter(Boolean)
      .join(', '),
  dataCounting: (bytes: number) => `${size(bytes)} so far`,
  dataValue: (bytes: number, compressed: number) => {
    if (compressed === 0) return size(bytes);
    return `${size(bytes)}, ${compressed > bytes * 0.95 ? 'nearly all' : size(compressed)} of it compressed`;
  },

  needs: 'The image needs something else',
  needsFile: ({ role, of }: Extract<Need, { kind: 'missing-file' }>) =>
    `${of} holds only a part of its disk. The rest is in another file, its ${role}:`,
  chooseFor: ({ role }: Extract<Need, { kind: 'missing-file' }>) => `Choose the ${role}`,
  needsFileHint: 'Or drop it here. Nothing is opened by a name that stands in an image: you decide what is read.',
  notTheFile: 'What you handed over has another name. If it is the right file all the same, choose it with the button.',
  passwordOf: (name: string) => `Password of ${name}`,
  passwordHint: 'It stays in this tab and is forgotten when the image is closed.',
  unlock: 'Unlock',
  unlocking: (name: string) => `Unlocking ${name}`,
  assume: 'I am sure of the password: go on without a check',

  salvage: 'Salvage what can be read',
  salvaging: (bytes: number) =>
    `The image is damaged. What cannot be read becomes zeros${bytes > 0 ? `: ${size(bytes)} at least` : ''}.`,
  doneDamaged: 'Done, but the disk is damaged',
  lost: (bytes: number, ranges: number) =>
    `${size(bytes)} in ${ranges === 1 ? 'one range' : `${ranges} ranges`} could not be read and are zeros now.`,
  lostList: 'What was lost',
  lostRange: ({ start, length, reason }: LostRange) => `${length} bytes at ${start}: ${reason}`,

  readAsRaw: 'Read it as a raw disk',
  another: 'Choose another file',

  saveHow: 'How to save it',
  picked: 'To a place you pick',
  pickedCost: (seconds: number | undefined) => `Takes only the space of its data. ${about(seconds)}`,
  download: 'As a download',
  downloadCost: (seconds: number | undefined, disk: number) => `Uses the full ${size(disk)} on disk. ${about(seconds)}`,
  better: 'Best for this image',
  noPicker: 'This browser cannot write to a place you pick; Chrome and Edge can.',
  pickerFailed: 'The browser does not let this page ask for a place; download it instead.',
  noRoom: (room: number) => `The browser gives this page ${size(room)}, which is too little for this disk.`,
  insecure:
    'This page is not served over https, so the browser does not let it save files. Open it over https or on localhost.',
  otherTab: 'Another tab is converting too; both will be slower.',
  convert: 'Convert',

  phase: {
    unlocking: 'Unlocking',
    preparing: 'Preparing',
    converting: 'Converting',
    finalizing: 'Finishing',
  } satisfies Record<Phase, string>,
  converted: (percent: number) => `${percent} percent converted`,
  speed: (bytesPerSecond: number) => `${size(bytesPerSecond)}/s`,
  left: (seconds: number) => `${duration(seconds)} left`,
  ofDisk: (done: number, total: number) => `${size(done)} of ${size(total)}`,
  finishing: (seconds: number | undefined) =>
    `The browser checks the whole file before it hands it over${seconds ? `, in about ${duration(seconds)}` : ''}. It does not tell how far it is.`,
  cancel: 'Cancel',
  cancelling: 'Stopping',
  cancelWaits: 'The browser cannot be stopped while it finishes a file; the file is removed right after.',
  keepOpen: 'Keep this tab open.',

  done: 'Done',
  savedPicked: (name: string) => `The disk is in ${name}, at the place you picked.`,
  savedDownload: (name: string) =>
    `${name} is being saved to your downloads. Keep this tab open until the browser has finished.`,
  facts: {
    disk: 'Disk',
    written: 'Written',
    time: 'Time',
    engine: 'Engine',
  },
  writtenValue: (result: Result, sparse: boolean) =>
    sparse
      ? `${size(result.bytesWritten)}; ${size(result.holeBytes)} are holes that take no space`
      : size(result.virtualSize),
  timeValue: (seconds: number, data: number) =>
    seconds >= 1 ? `${duration(seconds)}, ${size(data / seconds)}/s of data` : 'less than a second',
  engineValue: ({ engine, engineReason, workers }: Result) =>
    `${workers === 1 ? `one of ${engine}` : `${workers} ${engine}`} (${engineReason})`,
  notIsolated: 'This page shares no memory between threads, which its server would have to allow. Workers need none.',
  convertAnother: 'Convert another image',

  failed: 'That did not work',
  cancelled: 'Cancelled. Nothing was left behind.',
  again: 'Try again',
};

const about = (seconds: number | undefined): string => (seconds === undefined ? '' : `About ${duration(seconds)}.`);
