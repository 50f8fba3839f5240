// English sentences, by the codes of docs/errors.md, in place of messages of the package that speak to programs: of options, of formats to
// state, of structures in a file, and of sizes in other units.

import type { Fields } from 'decant';
import { bytes, name, type Sentences } from '../sentences.js';
import type { Units } from '../wording.js';

const TIB = 2 ** 40;
const OTHER_FORMAT = 'Choose another format.';

export function englishErrors({ size }: Units): Sentences {
  /** A limit of an output format. */
  const tooLarge = (output: string, most: number) =>
    `${output} at most ${size(most)}, and this disk is larger. ${OTHER_FORMAT}`;

  /** About a file that belongs to the image. */
  const ofCompanion =
    (text: (fields: Fields) => string) =>
    (fields: Fields): string | undefined =>
      fields.file === undefined ? undefined : text(fields);

  return {
    empty: 'The file is empty.',
    truncated: ({ size: length }) =>
      `The image is cut off: its file ends too early${typeof length === 'number' ? `, after ${size(length)}` : ''}. Download or copy it again.`,
    corrupt: ({ offset }) => `The image is damaged, at byte ${name(offset)} of its file. Download or copy it again.`,
    'other-format': ofCompanion(
      ({ format }) =>
        `This is not the right file: the image needs one in the format ${name(format)}. Choose another file.`,
    ),
    'not-an-image': ofCompanion(() => 'This is not a disk image. Choose another file.'),
    'state-format': 'Its format is not known.',
    'not-a-disk':
      'It has no known format and does not look like a raw disk: no partition table, no known file system, and not a multiple of 512\u00a0bytes. If a disk is packed in it, unpack it first.',
    'format-not-read': ({ format }) =>
      format === 'iso'
        ? 'This is an image of a CD or DVD (ISO 9660), not of a disk. Virtual machines can start from it directly.'
        : undefined,
    'ambiguous-format': 'It could be either of two formats: it begins as one, and ends as a VHD of fixed size.',
    'ambiguous-file': ({ file }) => `Several files may be ${name(file)}. Add only the right one.`,
    'descriptor-missing': 'This is a part of a VMDK. Add its descriptor, a small .vmdk file, together with it.',
    'maybe-extent':
      'Its format is not known. If it is a part of a VMDK, add the descriptor, a small .vmdk file, together with it.',
    'missing-file': ({ file, neededBy, role, container }) => {
      if (container !== undefined) return `${name(file)} is missing from the archive.`;
      if (role === 'part') return `${name(file)}, a part of the file, is missing. Add all parts together.`;
      return neededBy === undefined ? `Also add ${name(file)}.` : `Also add ${name(file)}: ${name(neededBy)} needs it.`;
    },
    'later-part': ({ first }) =>
      `This is a later part of a split file. Add all parts together, from ${name(first)} on.`,
    'parts-needed': ({ first, last, count }) =>
      `The image is cut off: by name, ${count === 1 ? `${name(first)} is the first part` : `${name(first)} to ${name(last)} are the first parts`} of a split file. Add all parts together.`,
    'parts-ambiguous': ({ first, second }) =>
      `${name(first)} and ${name(second)} are named like parts of one file, but may be two files. Add only the parts of one file.`,
    'wrong-parent': ({ neededBy }) =>
      `This is not the file on which ${name(neededBy)} is based, or it has changed since. Choose the right one.`,
    'several-files':
      'The archive is compressed, and it is unclear which of its files is the disk. Unpack it first, then add the disk.',
    'size-needed':
      'This format states the size of the disk at its start, but the size is known only at the end. Choose another format, or save the image as a file first.',
    'ascending-only': `This format writes its start last, but here bytes are saved only in order. ${OTHER_FORMAT}`,
    'password-unconfirmed':
      'The password may be wrong: the disk that it unlocks does not begin like any disk that Decant knows.',
    'out-of-memory': 'There was not enough memory. Close other tabs and programs.',
    'too-many-redirects': ({ host, cookie }) =>
      `The server ${name(host)} redirects again and again.${cookie === true ? ' It probably wants the cookie that it sets.' : ''}`,
    'window-too-large': ({ size: window }) =>
      `Decompressing the file takes ${bytes(window, size)} of memory, more than is available. Unpack it first.`,
    'luks-memory': ({ size: needed }) =>
      `Checking a password takes ${bytes(needed, size)} of memory, and Decant uses at most ${size(2 ** 30)}.`,
    'place-limit': ({ of, size: has, min, max }) =>
      `The ${name(of)} has ${bytes(has, size)}, but this place accepts ${min === undefined ? 'at most' : 'at least'} ${bytes(min ?? max, size)}.`,
    'vhd-too-large': tooLarge('A VHD holds', 2040 * 2 ** 30),
    'vdi-too-large': tooLarge('Decant writes a VDI of', 8 * TIB),
    'vmdk-too-large': tooLarge('A VMDK holds', 62 * TIB),
    'vmdk-full': `A VMDK file holds at most ${size(2 * TIB)} of data. ${OTHER_FORMAT}`,
    'vhdx-too-large': ({ blockSize }) => (blockSize === undefined ? tooLarge('A VHDX holds', 64 * TIB) : undefined),
    'output-unreadable':
      'This page wants to receive the disk itself, but is set up wrongly. Nothing is converted, and nothing is saved. Tell the operator of the page: the output of the converter must be set by a script.',
    'output-changed': 'The page has changed where the disk goes. Nothing was saved. Open the image again.',
    'gpt-damaged': 'The partition table (GPT) of the disk is damaged, so its copy is not moved to the new end.',
  };
}

export function englishNotices({ size, exactSize }: Units): Sentences {
  return {
    'disk-grows': ({ added, unit }) =>
      `${bytes(added, size)} of zeros are added at the end, to a multiple of ${bytes(unit, exactSize)}.`,
    huge: ({ size: disk }) => `The disk has ${bytes(disk, size)}, far more than its file.`,
    'gpt-not-at-end': 'The copy of the partition table (GPT) is not at the end of the larger disk.',
    'large-window': ({ size: window }) =>
      `Decompressing the file takes ${bytes(window, size)} of memory, in addition to the conversion.`,
    'ovf-capacity': ({ capacity, size: disk }) =>
      `The description of the virtual machine states ${bytes(capacity, size)} for this disk, which has ${bytes(disk, size)}: it may be the wrong one, or incomplete.`,
    'packed-as-raw': ({ file, format, container }) => {
      const content = file === undefined ? 'Its content' : `The content of ${name(file)}`;
      return `${content} is ${name(format ?? container)}, but the file itself is read as a raw disk.`;
    },
    'raw-disk-beside': ({ file }) => `${name(file)} in the same archive looks like a raw disk too, and is not read.`,
  };
}
