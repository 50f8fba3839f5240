// Every text that a person reads on the page.

import type { Info, Phase, Result } from 'decant';
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
  whichFileHint: 'Decant converts one image at a time.',
  dropped: 'what you dropped',
  noFiles: 'There was no file in what you dropped.',
  notFetched: (name: string) => `Could not read ${name}; try again.`,

  image: 'Image',
  format: 'Format',
  virtualSize: 'Disk size',
  fileSize: 'Image file',
  data: 'Data',
  snapshots: 'Snapshots',
  snapshotsValue: (count: number) => `${count}, which stay in the image; the current state is converted`,
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
  dirty: 'The image was not closed properly. It is read as it is; the guest may want to check its file systems.',
  corruptBit: 'The image is marked as corrupt. It is read as it is; check the result.',
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

  phase: { preparing: 'Preparing', converting: 'Converting', finalizing: 'Finishing' } satisfies Record<Phase, string>,
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
