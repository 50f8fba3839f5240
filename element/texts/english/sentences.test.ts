// English sentences in place of messages of the package.

import type { ErrorKind, Fields } from 'decant';
import { expect, test } from 'vitest';
import { germanErrors, germanNotices } from '../german/sentences.js';
import { unitsOf } from '../wording.js';
import { english } from './index.js';
import { englishErrors, englishNotices } from './sentences.js';

const units = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });
const message = 'The message of the package; state the format raw (-f raw)';
const failure = (code: string, fields: Fields, kind: ErrorKind = 'corrupt') =>
  english.failure({ kind, code, fields, message });

test('each code has a German sentence too', () => {
  const german = [...Object.keys(germanErrors(units)), ...Object.keys(germanNotices(units))];
  expect(german).toEqual(
    expect.arrayContaining([...Object.keys(englishErrors(units)), ...Object.keys(englishNotices(units))]),
  );
});

// (code, fields, sentence)
test.each<[string, Fields, string]>([
  [
    'missing-file',
    { file: 'base.qcow2', neededBy: 'top.qcow2', role: 'backing file' },
    'Also add base.qcow2: top.qcow2 needs it.',
  ],
  [
    'missing-file',
    { file: 'disk.002', neededBy: 'disk.001', role: 'part' },
    'disk.002, a part of the file, is missing. Add all parts together.',
  ],
  ['missing-file', { file: 'disk.vmdk' }, 'Also add disk.vmdk.'],
  ['descriptor-missing', {}, 'This is a part of a VMDK. Add its descriptor, a small .vmdk file, together with it.'],
  ['empty', {}, 'The file is empty.'],
  ['empty', { file: 'base.qcow2' }, 'base.qcow2: The file is empty.'],
  [
    'truncated',
    { offset: 196_608, size: 20_000 },
    'The image is cut off: its file ends too early, after 20\u00a0KB. Download or copy it again.',
  ],
  ['truncated', {}, 'The image is cut off: its file ends too early. Download or copy it again.'],
  ['corrupt', { offset: 20 }, 'The image is damaged, at byte 20 of its file. Download or copy it again.'],
  [
    'other-format',
    { file: 'report.pdf', format: 'qcow2' },
    'report.pdf: This is not the right file: the image needs one in the format qcow2. Choose another file.',
  ],
  ['not-an-image', { file: 'report.pdf', format: 'pdf' }, 'report.pdf: This is not a disk image. Choose another file.'],
  ['state-format', { format: 'raw' }, 'Its format is not known.'],
  ['state-format', { format: 'raw', file: 'base.img' }, 'base.img: Its format is not known.'],
  ['out-of-memory', { disk: 'a.vmdk' }, 'a.vmdk: There was not enough memory. Close other tabs and programs.'],
  [
    'place-limit',
    { of: 'disk', size: 6e12, max: 4e12 },
    'The disk has 6\u00a0TB, but this place accepts at most 4\u00a0TB.',
  ],
  [
    'place-limit',
    { of: 'file', size: 1e6, min: 4e6 },
    'The file has 1\u00a0MB, but this place accepts at least 4\u00a0MB.',
  ],
  ['vhd-too-large', { size: 6e12 }, 'A VHD holds at most 2.2\u00a0TB, and this disk is larger. Choose another format.'],
])('%s with %j', (code, fields, expected) => {
  expect(failure(code, fields)).toBe(expected);
});

test.each<[string, string, Fields]>([
  ['another code', 'encrypted', {}],
  ['damage at an unknown place', 'corrupt', {}],
  ['an image in another format', 'other-format', { format: 'qcow2' }],
  ['a file that is not an image', 'not-an-image', { format: 'pdf' }],
  ['a missing field', 'later-part', {}],
  ['another format', 'format-not-read', { format: 'dmg' }],
])('the message of the package counts for %s', (_, code, fields) => {
  expect(failure(code, fields)).toBe(`${message}.`);
});

test('a notice about one of several disks names it', () => {
  const fields = { added: 1536, unit: 1 << 20, disk: 'a.vmdk' };
  expect(english.notice({ code: 'disk-grows', fields, message })).toBe(
    'a.vmdk: 1.5\u00a0KB of zeros are added at the end, to a multiple of 1,048,576\u00a0bytes.',
  );
});
