// Recognises file systems, and structures that contain file systems, by their first bytes.

import type { ByteReader } from './bytes.js';
import type { Disk } from './disk.js';
import type { FileSystem } from './disk-contents.js';
import { named, type Probe } from './probe.js';
import { exFat, fat, ntfs } from './windows.js';

/** The bytes that are needed to recognise all of them; the superblock of Btrfs is last. */
const HEAD = 65_536 + 1024;

const EXT = 1024;
/** Features that only ext4 has, in the two words of the superblock. */
const EXT4_INCOMPATIBLE = 0x40 | 0x80 | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000;
const EXT4_READ_ONLY = 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x400;
const EXT_64_BIT = 0x80;
const EXT3_JOURNAL = 0x4;

function ext(head: ByteReader): FileSystem | undefined {
  if (head.u16(EXT + 56) !== 0xef53 || head.u32(EXT + 24) > 6) return undefined;
  const [compatible, incompatible, readOnly] = [92, 96, 100].map((at) => head.u32(EXT + at));
  const isExt4 = (incompatible! & EXT4_INCOMPATIBLE) !== 0 || (readOnly! & EXT4_READ_ONLY) !== 0;
  const high = incompatible! & EXT_64_BIT ? head.u32(EXT + 0x150) : 0;
  const blocks = high * 2 ** 32 + head.u32(EXT + 4);
  const name = isExt4 ? 'ext4' : compatible! & EXT3_JOURNAL ? 'ext3' : 'ext2';
  return named(name, blocks * 2 ** (10 + head.u32(EXT + 24)), head.text(EXT + 120, 16));
}

const xfs: Probe = (head) =>
  head.has('XFSB', 0) ? named('XFS', head.u64Big(8) * head.u32Big(4), head.text(108, 12)) : undefined;

const BTRFS = 65_536;
const btrfs: Probe = (head) =>
  head.has('_BHRfS_M', BTRFS + 64) ? named('Btrfs', head.u64(BTRFS + 0x70), head.text(BTRFS + 0x12b, 256)) : undefined;

const apfs: Probe = (head) => (head.has('NXSB', 32) ? named('APFS', head.u64(40) * head.u32(36)) : undefined);

const hfs: Probe = (head) =>
  head.has('H+', 1024) || head.has('HX', 1024)
    ? named('HFS+', head.u32Big(1024 + 44) * head.u32Big(1024 + 40))
    : undefined;

const ISO = 32_768;
const iso: Probe = (head) =>
  head.has('CD001', ISO + 1)
    ? named('ISO 9660', head.u32(ISO + 80) * head.u16(ISO + 128), head.text(ISO + 40, 32, 'latin1'))
    : undefined;

/** The page size of all platforms on which disk images are common. */
const SWAP_PAGE = 4096;
const swap: Probe = (head) =>
  head.has('SWAPSPACE2', SWAP_PAGE - 10)
    ? named('swap', (head.u32(1028) + 1) * SWAP_PAGE, head.text(1052, 16))
    : undefined;

function luks(head: ByteReader): FileSystem | undefined {
  if (!head.has('LUKS', 0) || head.u16(4) !== 0xbeba) return undefined;
  // The low byte of the version, which is big-endian.
  const version = head.u8(7);
  const label = version === 2 ? head.text(24, 48) : '';
  return { name: 'LUKS', ...(label === '' ? {} : { label }) };
}

const SECTOR = 512;

/** The label is the name of the volume group, which is in the first metadata area. */
const lvm: Probe = async (head, disk, start) => {
  const at = [0, 1, 2, 3].map((sector) => sector * SECTOR).find((at) => head.has('LABELONE', at));
  if (at === undefined || !head.has('LVM2 001', at + 24)) return undefined;
  const header = at + head.u32(at + 20);
  const size = head.u64(header + 32);
  // Two lists of offsets and sizes follow, each ended by zeros: data areas, then metadata areas.
  let list = header + 40;
  while (list < HEAD && head.u64(list) !== 0) list += 16;
  const area = await disk.read(start + head.u64(list + 16), SECTOR);
  if (!area.has(' LVM2 x[5A%r0N*>', 4)) return named('LVM', size);
  const text = await disk.read(start + head.u64(list + 16) + area.u64(40), SECTOR);
  const [, group] = /^([\w+.-]{1,127}) \{/.exec(text.text(0, SECTOR)) ?? [];
  return named('LVM', size, group);
};

const byName = (text: string, at: number, name: string): Probe => {
  return (head) => (head.has(text, at) ? { name } : undefined);
};

/** Probes of the first sector come first: remains of older contents may follow it. */
const PROBES: Probe[] = [
  luks,
  byName('-FVE-FS-', 3, 'BitLocker'),
  ntfs,
  exFat,
  fat,
  byName('ReFS', 3, 'ReFS'),
  xfs,
  apfs,
  byName('hsqs', 0, 'SquashFS'),
  lvm,
  ext,
  hfs,
  swap,
  iso,
  btrfs,
];

/** The file system at the offset `start`, in bytes; `undefined` if none is recognised. */
export async function fileSystemAt(disk: Disk, start: number): Promise<FileSystem | undefined> {
  const head = await disk.read(start, HEAD);
  for (const probe of PROBES) {
    const found = await probe(head, disk, start);
    if (found) return found;
  }
  return undefined;
}
