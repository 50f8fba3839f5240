// The extension of an output states its format; `-O` wins, with a note if they differ.

import { describe, expect, test } from 'vitest';
import { outputFormat } from './formats.js';

describe('without -O', () => {
  for (const [output, format] of [
    ['disk.raw', 'raw'],
    ['disk.img', 'raw'],
    ['DISK.BIN', 'raw'],
    ['disk.vhd', 'vpc'],
    ['a/b.c/disk.VHD', 'vpc'],
    ['disk.raw.gz', 'raw.gz'],
    ['disk.img.gz', 'raw.gz'],
    ['disk.raw.zst', 'raw.zst'],
    ['disk.zst', 'raw.zst'],
    ['disk.raw.xz', 'raw.xz'],
    ['disk.tar.gz', 'tar.gz'],
    ['disk.tgz', 'tar.gz'],
    ['disk.qcow2', 'qcow2'],
    ['disk.VMDK', 'vmdk'],
    ['disk', 'raw'],
    ['disk.vhdx', 'vhdx'],
    ['disk.VDI', 'vdi'],
    ['disk.dat', 'raw'],
    ['vhd', 'raw'],
    ['/dev/sdb', 'raw'],
    ['a.vhd/disk', 'raw'],
    ['-', 'raw'],
    ['https://account.blob.core.windows.net/disks/disk.vhd?sig=a.qcow2', 'vpc'],
    ['https://host/disk', 'raw'],
  ] as const) {
    test(`${output} is ${format}`, () => expect(outputFormat(output)).toEqual({ format, formatOptions: {} }));
  }

  for (const output of [
    'disk.qcow',
    'disk.qcow2.gz',
    'disk.VMDK.gz',
    'disk.qed',
    'disk.HDS',
    'disk.raw.bz2',
    'https://host/disk.qed?a=b',
  ]) {
    test(`${output} is refused`, () => {
      expect(() => outputFormat(output)).toThrow(
        expect.objectContaining({
          kind: 'usage',
          code: 'format-not-made',
          message: expect.stringContaining('not write .'),
        }),
      );
    });
  }
});

describe('with -O', () => {
  for (const [output, requestedFormat, format] of [
    ['disk.raw', 'raw', 'raw'],
    ['disk.vhd', 'vpc', 'vpc'],
    ['disk.vhd', 'vhd', 'vpc'],
    ['disk', 'vhd', 'vpc'],
    ['disk.img.gz', 'raw.gz', 'raw.gz'],
    ['disk.dat', 'tar.gz', 'tar.gz'],
    ['-', 'vpc', 'vpc'],
    ['disk.qcow2', 'QCOW2', 'qcow2'],
    ['disk.vhd', 'VHD', 'vpc'],
    ['disk.tgz', 'Tar.GZ', 'tar.gz'],
  ] as const) {
    test(`${requestedFormat} to ${output} is ${format}`, () =>
      expect(outputFormat(output, { requestedFormat })).toEqual({ format, formatOptions: {} }));
  }

  for (const [output, requestedFormat, format, end] of [
    ['disk.vhd', 'raw', 'raw', '.vhd'],
    ['disk.raw', 'vpc', 'vpc', '.raw'],
    ['disk.img', 'vhd', 'vpc', '.img'],
    ['disk.qcow2', 'raw', 'raw', '.qcow2'],
    ['disk.tar.gz', 'raw.gz', 'raw.gz', '.tar.gz'],
    ['disk.raw.gz', 'raw', 'raw', '.raw.gz'],
  ] as const) {
    test(`${requestedFormat} to ${output} has a note`, () => {
      const note = `the output is ${format}, as -O says, although its name ends in ${end}`;
      expect(outputFormat(output, { requestedFormat })).toEqual({ format, formatOptions: {}, note });
    });
  }
});

describe('with --for', () => {
  const FIXED = { subformat: 'fixed' };
  const DYNAMIC = { subformat: 'dynamic' };
  for (const [place, output, given, format, formatOptions] of [
    ['azure', 'disk', {}, 'vpc', FIXED],
    ['azure', 'disk.vhd', {}, 'vpc', FIXED],
    ['azure', '-', { requestedFormat: 'vhd' }, 'vpc', FIXED],
    ['hyperv', 'disk', {}, 'vhdx', {}],
    ['hyperv', 'disk.vhd', {}, 'vpc', DYNAMIC],
    ['hyperv', 'disk.vhd', { options: FIXED }, 'vpc', FIXED],
    ['virtualbox', 'disk.vdi', {}, 'vdi', {}],
    ['proxmox', 'disk.qcow2', {}, 'qcow2', { compress: 'on' }],
    ['proxmox', 'disk.qcow2', { options: { compress: 'off' } }, 'qcow2', { compress: 'off' }],
    ['proxmox', 'disk.raw', {}, 'raw', {}],
    ['aws', 'disk.raw', {}, 'raw', {}],
    ['aws', 'disk.vhdx', {}, 'vhdx', {}],
    ['vmware', 'disk.ova', {}, 'ova', {}],
    ['virtualbox', 'disk.ova', {}, 'ova', {}],
    ['kubevirt', 'disk.raw.zst', {}, 'raw.zst', {}],
    ['xen', 'disk', {}, 'vpc', DYNAMIC],
    ['forklift', 'disk', {}, 'ova', {}],
    ['google', 'disk.tar.gz', {}, 'tar.gz', {}],
    ['vmware', 'disk.vmdk', { options: { hwversion: '7' } }, 'vmdk', { hwversion: '7' }],
  ] as const) {
    test(`${place} to ${output} with ${JSON.stringify(given)}`, () =>
      expect(outputFormat(output, { place, ...given })).toEqual({ format, formatOptions }));
  }

  test('an extension that any format has gets a note', () => {
    const note = 'the output is vpc, as --for says, although its name ends in .img';
    expect(outputFormat('disk.img', { place: 'azure' })).toEqual({ format: 'vpc', formatOptions: FIXED, note });
  });

  for (const [place, output, given, code] of [
    ['azure', 'disk.qcow2', {}, 'place-format'],
    ['azure', 'disk.raw', {}, 'place-format'],
    ['azure', 'disk.vhd', { options: DYNAMIC }, 'place-format'],
    ['azure', 'disk', { requestedFormat: 'raw' }, 'place-format'],
    ['google', 'disk', { requestedFormat: 'qcow2' }, 'place-format'],
    ['mars', 'disk', {}, 'unknown-place'],
    ['virtualbox', 'disk.qed', {}, 'format-not-made'],
  ] as const) {
    test(`${place} to ${output} with ${JSON.stringify(given)} is refused`, () =>
      expect(() => outputFormat(output, { place, ...given })).toThrow(
        expect.objectContaining({ kind: 'usage', code }),
      ));
  }
});

describe('the files of an OVF', () => {
  for (const [output, requestedFormat] of [
    ['a b/vm-1.2.ovf', undefined],
    ['vm.ovf', 'OVF'],
  ] as const) {
    test(`${output}, -O ${requestedFormat}`, () => {
      const name = output.includes('1.2') ? 'vm-1.2' : 'vm';
      const options = { options: { cpus: '4' }, requestedFormat };
      const expected = { format: 'ova', formatOptions: { cpus: '4', name }, isLoose: true };
      expect(outputFormat(output, options)).toEqual(expected);
    });
  }

  for (const [output, given, message] of [
    ['vm', { requestedFormat: 'ovf' }, 'ends in NAME.ovf'],
    ['-', { requestedFormat: 'ovf' }, 'ends in NAME.ovf'],
    ['folder/', { requestedFormat: 'ovf' }, 'ends in NAME.ovf'],
    ['https://host/vm.ovf', { requestedFormat: 'ovf' }, 'ends in NAME.ovf'],
    ['my vm.ovf', {}, 'ends in NAME.ovf'],
    ['.ovf', {}, 'ends in NAME.ovf'],
    ['.vm.ovf', {}, 'ends in NAME.ovf'],
    ['vm-.ovf', {}, 'ends in NAME.ovf'],
    ['vm.OVF', {}, 'ends in NAME.ovf'],
    [`${'a'.repeat(81)}.ovf`, {}, 'ends in NAME.ovf'],
    ['vm.ovf', { options: { name: 'a' } }, 'omit -o name'],
    ['vm.ovf', { place: 'vmware' }, 'choose ova'],
  ] as const) {
    test(`${output} is refused: ${message}`, () => {
      const refusal = expect.objectContaining({ kind: 'usage', message: expect.stringContaining(message) });
      expect(() => outputFormat(output, given)).toThrow(refusal);
    });
  }

  test('-o help needs no output', () =>
    expect(outputFormat('', { requestedFormat: 'ovf' })).toMatchObject({ format: 'ova' }));
});
