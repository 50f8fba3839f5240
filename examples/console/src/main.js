// The page of a console that imports disk images: a list of disks, and a dialog that adds one.

import 'decant/element';
import { Modal } from 'bootstrap';
import { BucketUpload } from './bucket.js';
import { disks, hasBucket } from './server.js';
import { Upload } from './upload.js';

/** The cloud's limit, in bytes. */
const LARGEST = 64 * 2 ** 30;

const element = (id) => document.getElementById(id);
const dialog = element('dialog');
// A click beside the dialog must not end an import by accident.
const modal = new Modal(dialog, { backdrop: 'static' });

const megabytes = (bytes) => `${Math.ceil(bytes / 1e6).toLocaleString()} MB`;

async function showDisks() {
  const rows = (await disks()).map(({ name, size }) => {
    const row = document.createElement('tr');
    for (const text of [name, megabytes(size)]) row.insertCell().textContent = text;
    return row;
  });
  element('disks').replaceChildren(...rows);
}

const isBucket = await hasBucket();

/** The element's `output`. The dialog shows errors thrown here. */
function uploadOf({ info, name }) {
  if (info.virtualSize === undefined)
    throw new Error('This cloud must know the size of a disk beforehand; unpack the image');
  if (info.virtualSize > LARGEST) throw new Error(`This cloud takes disks of at most ${megabytes(LARGEST)}`);
  const Place = isBucket ? BucketUpload : Upload;
  return new Place(name, (sent) => {
    element('sent').textContent = `${megabytes(sent)} uploaded`;
  });
}

function makeConverter() {
  const converter = document.createElement('decant-converter');
  converter.compact = true;
  converter.places = ['raw'];
  converter.output = uploadOf;
  converter.texts = {
    convert: 'Import',
    phase: { converting: 'Importing', finishing: 'Finishing' },
    done: 'Imported',
    convertAnother: 'Import another image',
    place: ({ name }) => `${name} is among your disks.`,
    notConverted: (name) => `${name} could not be imported`,
  };
  // A custom help text below the drop area.
  const help = document.createElement('p');
  help.slot = 'help';
  help.textContent = `Takes qcow2, VMDK, VDI and raw images of disks of up to ${megabytes(LARGEST)}.`;
  converter.append(help);
  return converter;
}

element('import').addEventListener('click', () => {
  element('sent').textContent = '';
  element('place').replaceChildren(makeConverter());
  modal.show();
});

// Removing the element aborts the upload, and the server removes its data.
dialog.addEventListener('hidden.bs.modal', () => {
  element('place').replaceChildren();
  isImporting = false;
});

// Escape must not end an import by accident.
const keepOpen = (event) => {
  if (event.key === 'Escape' && isImporting) event.stopPropagation();
};
addEventListener('keydown', keepOpen, { capture: true });

let isImporting = false;
dialog.addEventListener('decant-progress', () => {
  isImporting = true;
});
for (const type of ['decant-done', 'decant-error']) {
  dialog.addEventListener(type, () => {
    isImporting = false;
    showDisks().catch(reportError);
  });
}

showDisks().catch(reportError);
