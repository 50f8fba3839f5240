// An error ends with the option that helps, if any.

import { expect, test } from 'vitest';
import { DecantError, type ErrorKind, type Fields } from '../errors/errors.js';
import { failureRows, failureText } from './failure-text.js';

const resumable = { reason: 'a', left: 'it is kept', resumable: true };
for (const [kind, code, fields, text] of [
  ['missing-file', 'missing-file', {}, 'a (--with FILE)'],
  ['password', 'password-needed', {}, 'a (--password-file FILE)'],
  ['password', 'password-unconfirmed', {}, 'a (--assume-password)'],
  ['password', 'password-wrong', {}, 'a'],
  ['password', 'password-wrong', { disk: 'b.vmdk' }, "a (--password-file 'b.vmdk'=FILE)"],
  ['password', 'password-needed', { disk: 'b\n' }, "a (--password-file 'b\\u000a'=FILE)"],
  ['not-recognised', 'state-format', { format: 'raw' }, 'a (-f raw)'],
  ['not-recognised', 'not-recognised', {}, 'a'],
  ['usage', 'ambiguous-format', { format: 'qcow2', otherFormat: 'vpc' }, 'a (-f qcow2 or -f vpc)'],
  ['usage', 'ambiguous-format', { format: 'vpc', container: 'tar' }, 'a (-f vpc)'],
  ['usage', 'ambiguous-format', { format: 'qcow2', otherFormat: 'vpc', file: 'b' }, 'a'],
  ['usage', 'several-images', {}, 'a (--disk N)'],
  ['usage', 'no-image', {}, 'a (--disk N)'],
  ['unsupported', 'no-image', {}, 'a'],
  ['missing-file', 'missing-file', { container: 'tar', disks: [{ name: 'b', size: 1 }] }, 'a (--disk N)'],
  ['missing-file', 'missing-file', { container: 'tar', disks: [{ name: 'b', size: 0, missing: true }] }, 'a'],
  ['missing-file', 'missing-file', { container: 'tar', disks: [] }, 'a'],
  ['missing-file', 'missing-file', { disks: [{ name: 'b', size: 0, missing: true }] }, 'a (--with FILE)'],
  ['usage', 'ambiguous-file', { file: 'b' }, 'a (--with NAME=FILE)'],
  ['unsupported', 'several-images', {}, 'a'],
  ['target', 'target', resumable, 'a (--resume)'],
  ['source', 'source', resumable, 'a (--resume)'],
  ['target', 'target', { reason: 'a', left: 'a file stays' }, 'a'],
  ['cancelled', 'cancelled', {}, 'interrupted'],
  ['cancelled', 'cancelled', { reason: 'a', left: 'a file stays' }, 'interrupted; a file stays'],
  ['cancelled', 'cancelled', resumable, 'interrupted; it is kept (--resume)'],
] satisfies [ErrorKind, string, Fields, string][]) {
  test(`${kind} ${code} ${JSON.stringify(fields)}`, () => {
    expect(failureText(new DecantError(kind, 'a', { code, fields }))).toBe(text);
  });
}

test('disks to choose from are listed', () => {
  const disks = [
    { name: 'a.vmdk', size: 2048, format: 'vmdk' },
    { name: 'b\u001b\n', size: 1, virtualSize: 1 << 30 },
  ];
  const rows = (kind: ErrorKind, fields: Fields) => failureRows(new DecantError(kind, 'a', { fields }));
  expect(rows('usage', { disks })).toEqual([
    '--disk 1: a.vmdk (2 KiB, vmdk)',
    '--disk 2: b\\u001b\\u000a (1 B, a disk of 1 GiB)',
    '--disk all: all, for convert with a folder or an OVA as the output',
  ]);
  // Some of the disks cannot be converted.
  expect(rows('usage', { disks: [{ name: 'b', size: 0, virtualSize: 1024, missing: true }, disks[0]!] })).toEqual([
    '--disk 1: b (a disk of 1 KiB, missing; --with FILE)',
    '--disk 2: a.vmdk (2 KiB, vmdk)',
  ]);
  expect(rows('usage', { container: 'zip', disks: [{ name: 'b', size: 0, missing: true }, disks[0]!] })).toEqual([
    '--disk 1: b (missing)',
    '--disk 2: a.vmdk (2 KiB, vmdk)',
  ]);
  expect(rows('usage', { disks: disks.slice(1) })).toEqual([]);
  expect(rows('usage', {})).toEqual([]);
  expect(rows('unsupported', { disks })).toEqual([]);
  const unknown = new DecantError('usage', 'a', { code: 'no-image', fields: { disks: disks.slice(1) } });
  expect(failureRows(unknown)).toEqual(['--disk 1: b\\u001b\\u000a (1 B, a disk of 1 GiB)']);
});
