// The extension of an output states its format; `-O` wins, with a note if they differ.

import { describe, expect, test } from 'vitest';
import { outputFormat } from './format-option.js';

describe('without -O', () => {
  for (const [output, format] of [
    ['disk.raw', 'raw'],
    ['disk.img', 'raw'],
    ['DISK.BIN', 'raw'],
    ['disk.vhd', 'vpc'],
    ['a/b.c/disk.VHD', 'vpc'],
    ['disk.raw.gz', 'raw.gz'],
    ['disk.img.gz', 'raw.gz'],
    ['disk.tar.gz', 'tar.gz'],
    ['disk.tgz', 'tar.gz'],
    ['disk.qcow2', 'qcow2'],
    ['disk.VMDK', 'vmdk'],
    ['disk', 'raw'],
    ['disk.dat', 'raw'],
    ['vhd', 'raw'],
    ['/dev/sdb', 'raw'],
    ['a.vhd/disk', 'raw'],
    ['-', 'raw'],
    ['https://account.blob.core.windows.net/disks/disk.vhd?sig=a.qcow2', 'vpc'],
    ['https://host/disk', 'raw'],
  ] as const) {
    test(`${output} is ${format}`, () => expect(outputFormat(output, undefined)).toEqual({ format }));
  }

  for (const output of [
    'disk.qcow',
    'disk.qcow2.gz',
    'disk.VMDK.gz',
    'disk.vhdx',
    'disk.VDI',
    'disk.raw.xz',
    'https://host/disk.vhdx?a=b',
  ]) {
    test(`${output} is refused`, () => {
      expect(() => outputFormat(output, undefined)).toThrow(
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
  for (const [output, asked, format] of [
    ['disk.raw', 'raw', 'raw'],
    ['disk.vhd', 'vpc', 'vpc'],
    ['disk.vhd', 'vhd', 'vpc'],
    ['disk', 'vhd', 'vpc'],
    ['disk.img.gz', 'raw.gz', 'raw.gz'],
    ['disk.dat', 'tar.gz', 'tar.gz'],
    ['-', 'vpc', 'vpc'],
    ['disk', 'nonsense', 'nonsense'],
  ] as const) {
    test(`${asked} to ${output} is ${format}`, () => expect(outputFormat(output, asked)).toEqual({ format }));
  }

  for (const [output, asked, format, end] of [
    ['disk.vhd', 'raw', 'raw', '.vhd'],
    ['disk.raw', 'vpc', 'vpc', '.raw'],
    ['disk.img', 'vhd', 'vpc', '.img'],
    ['disk.qcow2', 'raw', 'raw', '.qcow2'],
    ['disk.tar.gz', 'raw.gz', 'raw.gz', '.tar.gz'],
    ['disk.raw.gz', 'raw', 'raw', '.raw.gz'],
  ] as const) {
    test(`${asked} to ${output} has a note`, () => {
      const note = `the output is ${format}, by -O, although its name ends in ${end}`;
      expect(outputFormat(output, asked)).toEqual({ format, note });
    });
  }
});
