// Hardware of a machine, as the content of its disk shows.

import { expect, test } from 'vitest';
import type { Contents, Firmware } from './disk-contents.js';
import { hardwareShown } from './hardware.js';

const contents = (firmware: Firmware[], parts: [type?: string, fileSystem?: string][]): Contents => ({
  partitions: parts.map(([type, name]) => ({
    offset: 0,
    length: 1,
    ...(type !== undefined && { type }),
    ...(name !== undefined && { fileSystem: { name } }),
  })),
  ...(firmware.length > 0 && { firmware }),
});

// (what, contents, hardware)
for (const [what, found, hardware] of [
  ['nothing', contents([], []), {}],
  ['data of Windows', contents([], [['Microsoft data', 'NTFS']]), {}],
  [
    'Linux with UEFI',
    contents(
      ['efi'],
      [
        ['EFI system', 'FAT32'],
        ['Linux root', 'ext4'],
      ],
    ),
    { firmware: 'efi', os: 'linux' },
  ],
  [
    'Linux with both',
    contents(['efi', 'bios'], [['EFI system', 'FAT32'], ['BIOS boot'], ['Linux']]),
    { firmware: 'bios', os: 'linux' },
  ],
  ['Linux with BIOS', contents(['bios'], [['Linux', 'XFS']]), { firmware: 'bios', os: 'linux' }],
  [
    'Windows with UEFI',
    contents(['efi'], [['EFI system', 'FAT32'], ['Microsoft reserved'], ['Microsoft data', 'NTFS']]),
    { firmware: 'efi', os: 'windows10' },
  ],
  [
    'Windows with BitLocker',
    contents(['efi'], [['EFI system'], ['Microsoft data', 'BitLocker']]),
    { firmware: 'efi', os: 'windows10' },
  ],
  ['Windows with BIOS', contents(['bios'], [['NTFS or exFAT', 'NTFS']]), { firmware: 'bios', os: 'windows10' }],
  [
    'Linux with data of Windows',
    contents(
      ['efi'],
      [
        ['Microsoft data', 'NTFS'],
        ['Linux', 'ext4'],
      ],
    ),
    { firmware: 'efi', os: 'linux' },
  ],
  ['FreeBSD', contents(['efi'], [['EFI system', 'FAT32'], ['FreeBSD swap'], ['FreeBSD ZFS']]), { firmware: 'efi' }],
  ['an unknown system', contents(['efi'], [['EFI system', 'FAT32']]), { firmware: 'efi' }],
] as const) {
  test(what, () => expect(hardwareShown(found)).toEqual(hardware));
}
