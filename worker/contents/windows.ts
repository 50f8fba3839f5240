// NTFS, exFAT and FAT. Their labels are in special files and folders.

import type { ByteReader } from './bytes.js';
import { named, type Probe } from './probe.js';

/** How many bytes of a folder are searched for a label, which is usually the first entry. */
const FOLDER = 4096;
const FOLDER_ENTRY = 32;

const isPowerOfTwo = (value: number): boolean => value > 0 && (value & (value - 1)) === 0;

/** Decodes a power of two, which is stored as such or as its negated exponent. */
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

export const exFat: Probe = async (head, disk, start) => {
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
