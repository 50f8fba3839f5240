// Recognises file systems, and structures that contain file systems, by their first bytes.

import type { ByteReader, Disk } from './disk.js';
import type { FileSystemInfo } from './disk-contents.js';

/** Recognises a file system at `start` of `disk` by its first bytes, `head`; returns `undefined` for anything else. */
type Probe = (
  head: ByteReader,
  disk: Disk,
  start: number,
) => FileSystemInfo | undefined | Promise<FileSystemInfo | undefined>;

/** A `FileSystemInfo`, without an empty label. */
export const named = (name: string, size: number, label = ''): FileSystemInfo => ({
  name,
  size,
  ...(label === '' ? {} : { label }),
});

/** How many bytes of a folder are searched for a label, which is usually the first entry. */
const FOLDER = 4096;
const FOLDER_ENTRY = 32;

const isPowerOfTwo = (value: number): boolean => value > 0 && (value & (value - 1)) === 0;

/** Decodes a power of two, which is stored as a number, or as its exponent, negated: 4096 is -12. */
const power = (value: number): number => (value > 0 ? value : 2 ** -value);

export const ntfs: Probe = async (head, disk, start) => {
  if (!head.has('NTFS    ', 3)) return undefined;
  const sector = head.u16(11);
  const cluster = sector * power(head.u8(13) > 0x80 ? head.i8(13) : head.u8(13));
  const record = head.i8(64) > 0 ? head.i8(64) * cluster : 2 ** -head.i8(64);
  const size = head.u64(40) * sector;
  if (!isPowerOfTwo(cluster) || !isPowerOfTwo(record) || record > 65_536) return named('NTFS', size);
  // The fourth record of the MFT describes the volume.
  const volume = await disk.read(start + head.u64(48) * cluster + 3 * record, record);
  return named('NTFS', size, ntfsLabel(volume));
};

const VOLUME_NAME = 0x60;

/** The volume name in the attributes of a record. */
function ntfsLabel(record: ByteReader): string {
  if (!record.has('FILE', 0)) return '';
  let at = record.u16(20);
  while (at + 24 <= record.array.length) {
    const [type, length] = [record.u32(at), record.u32(at + 4)];
    if (type === VOLUME_NAME) return record.text(at + record.u16(at + 20), record.u32(at + 16), 'utf-16le');
    if (type === 0xffff_ffff || length < 24) return '';
    at += length;
  }
  return '';
}

const EXFAT_LABEL = 0x83;

const exFat: Probe = async (head, disk, start) => {
  if (!head.has('EXFAT   ', 3)) return undefined;
  const [sectorShift, clusterShift] = [head.u8(108), head.u8(109)];
  const size = head.u64(72) * 2 ** sectorShift;
  if (sectorShift > 12 || clusterShift > 25) return named('exFAT', size);
  const root = (head.u32(88) + (head.u32(96) - 2) * 2 ** clusterShift) * 2 ** sectorShift;
  const folder = await disk.read(start + root, FOLDER);
  for (let at = 0; at < folder.array.length; at += FOLDER_ENTRY) {
    if (folder.u8(at) === EXFAT_LABEL) {
      return named('exFAT', size, folder.text(at + 2, Math.min(folder.u8(at + 1), 11) * 2, 'utf-16le'));
    }
  }
  return named('exFAT', size);
};

export const fat: Probe = async (head, disk, start) => {
  if (head.u16(510) !== 0xaa55) return undefined;
  const kind = /^FAT(12|16|32)?$/.exec(head.text(54, 8)) ?? /^FAT32$/.exec(head.text(82, 8));
  const [sector, perCluster, reserved, tables] = [head.u16(11), head.u8(13), head.u16(14), head.u8(16)];
  if (!kind || !isPowerOfTwo(sector) || !isPowerOfTwo(perCluster) || reserved === 0 || tables === 0) return undefined;
  const sectors = head.u16(19) || head.u32(32);
  const tableSectors = head.u16(22) || head.u32(36);
  const rootSectors = Math.ceil((head.u16(17) * FOLDER_ENTRY) / sector);
  const dataStart = reserved + tables * tableSectors + rootSectors;
  const clusters = Math.floor((sectors - dataStart) / perCluster);
  // The number of clusters decides, and nothing else (Microsoft's specification, "FAT type determination").
  const name = clusters < 4085 ? 'FAT12' : clusters < 65_525 ? 'FAT16' : 'FAT32';
  const isLarge = rootSectors === 0;
  const root = isLarge ? dataStart + (head.u32(44) - 2) * perCluster : dataStart - rootSectors;
  const folder = await disk.read(start + root * sector, FOLDER);
  return named(name, sectors * sector, fatLabel(folder) ?? head.text(isLarge ? 71 : 43, 11, 'latin1'));
};

/** The attribute of a label. Parts of long names have it too, with the others of `LONG_NAME`. */
const LABEL = 0x08;
const LONG_NAME = 0x0f;
const DELETED = 0xe5;

function fatLabel(folder: ByteReader): string | undefined {
  for (let at = 0; at < folder.array.length && folder.u8(at) !== 0; at += FOLDER_ENTRY) {
    const attributes = folder.u8(at + 11);
    const isLabel = (attributes & LABEL) !== 0 && (attributes & LONG_NAME) !== LONG_NAME;
    if (isLabel && folder.u8(at) !== DELETED) return folder.text(at, 11, 'latin1');
  }
  return undefined;
}

/** The bytes that are needed to recognise all of them; the superblock of Btrfs is last. */
const HEAD = 65_536 + 1024;

const EXT = 1024;
/** Features that only ext4 has, in the two words of the superblock. */
const EXT4_INCOMPATIBLE = 0x40 | 0x80 | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000;
const EXT4_READ_ONLY = 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x400;
const EXT_64_BIT = 0x80;
const EXT3_JOURNAL = 0x4;

function ext(head: ByteReader): FileSystemInfo | undefined {
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

function luks(head: ByteReader): FileSystemInfo | undefined {
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
export async function fileSystemAt(disk: Disk, start: number): Promise<FileSystemInfo | undefined> {
  const head = await disk.read(start, HEAD);
  for (const probe of PROBES) {
    const found = await probe(head, disk, start);
    if (found) return found;
  }
  return undefined;
}
