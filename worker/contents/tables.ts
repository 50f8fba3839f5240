// Partition tables: GPT (UEFI Specification 2.10, chapter 5) and MBR; and the firmware that starts the disk.

import { ByteReader, crc32, type Disk } from './disk.js';
import type { Firmware, Partition, PartitionTable } from './disk-contents.js';

/** Types of partitions by the byte in an entry of an MBR. */
const MBR_TYPES: Record<number, string> = {
  1: 'FAT12',
  4: 'FAT16',
  6: 'FAT16',
  7: 'NTFS or exFAT',
  11: 'FAT32',
  12: 'FAT32',
  14: 'FAT16',
  39: 'Windows recovery',
  130: 'Linux swap',
  131: 'Linux',
  142: 'Linux LVM',
  165: 'FreeBSD',
  166: 'OpenBSD',
  169: 'NetBSD',
  175: 'Apple HFS',
  239: 'EFI system',
  253: 'Linux RAID',
};

/** Types of partitions by the GUID in an entry of a GPT. */
const GPT_TYPES: Record<string, string> = {
  'C12A7328-F81F-11D2-BA4B-00A0C93EC93B': 'EFI system',
  '21686148-6449-6E6F-744E-656564454649': 'BIOS boot',
  'E3C9E316-0B5C-4DB8-817D-F92DF00215AE': 'Microsoft reserved',
  'EBD0A0A2-B9E5-4433-87C0-68B6B72699C7': 'Microsoft data',
  'DE94BBA4-06D1-4D40-A16A-BFD50179D6AC': 'Windows recovery',
  '0FC63DAF-8483-4772-8E79-3D69D8477DE4': 'Linux',
  '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709': 'Linux root',
  '44479540-F297-41B2-9AF7-D131D5F0458A': 'Linux root',
  'B921B045-1DF0-41C3-AF44-4C6F280D3FAE': 'Linux root',
  'BC13C2FF-59E6-4262-A352-B275FD6F7172': 'Linux boot',
  '933AC7E1-2EB4-4F13-B844-0E14E2AEF915': 'Linux home',
  '0657FD6D-A4AB-43C4-84E5-0933C84B4F4F': 'Linux swap',
  'E6D6D379-F507-44C2-A23C-238F2A3DF928': 'Linux LVM',
  'A19D880F-05FC-4D3B-A006-743F0F84911E': 'Linux RAID',
  'CA7D7CCB-63ED-4C53-861C-1742536059CC': 'Linux LUKS',
  '7C3457EF-0000-11AA-AA11-00306543ECAC': 'Apple APFS',
  '48465300-0000-11AA-AA11-00306543ECAC': 'Apple HFS+',
  '516E7CB4-6ECF-11D6-8FF8-00022D09712B': 'FreeBSD data',
  '516E7CB6-6ECF-11D6-8FF8-00022D09712B': 'FreeBSD UFS',
  '516E7CBA-6ECF-11D6-8FF8-00022D09712B': 'FreeBSD ZFS',
};

/** The sector size of an MBR, in bytes. A GPT may also have sectors of 4,096 bytes. */
const SECTOR = 512;
const GPT_SECTORS = [512, 4096];
/** The maximum number of partitions in the result. */
const MOST_PARTS = 128;
/** The maximum size of a GPT's entries, in bytes: 32 times the usual size. */
const MOST_ENTRIES = 1 << 19;

const MBR_ENTRIES = 446;
const ENTRY = 16;
const EXTENDED = [0x05, 0x0f, 0x85];
const PROTECTIVE = 0xee;

/** The partition table of `disk`; `undefined` if it has none. */
export async function tableOf(disk: Disk): Promise<PartitionTable | undefined> {
  const mbr = await readMbr(disk, 0);
  const gpt = await findGpt(disk);
  if (gpt) return gpt;
  if (!mbr) return undefined;
  // A protective MBR whose GPT is lost.
  if (mbr.some(({ type }) => type === PROTECTIVE)) return { kind: 'GPT', partitions: [], damaged: true };
  return mbrTable(disk, mbr);
}

/** The GPT at the start of the disk, or its backup at the end. */
async function findGpt(disk: Disk): Promise<PartitionTable | undefined> {
  for (const isCopy of [false, true]) {
    for (const sector of GPT_SECTORS) {
      const sectors = Math.floor(disk.size / sector);
      const parts = await readGpt(disk, sector, isCopy ? sectors - 1 : 1);
      if (parts) return { kind: 'GPT', partitions: parts, damaged: isCopy };
    }
  }
  return undefined;
}

/** The partitions of the GPT whose header is in the sector `number`; `undefined` if there is no intact one. */
async function readGpt(disk: Disk, sector: number, number: number): Promise<Partition[] | undefined> {
  if (number < 1) return undefined;
  const header = await disk.read(number * sector, sector);
  const length = header.u32(12);
  if (!header.has('EFI PART', 0) || length < 92 || length > sector || header.u64(24) !== number) return undefined;
  const checked = header.part(0, length).slice();
  checked.fill(0, 16, 20);
  const [count, size] = [header.u32(80), header.u32(84)];
  if (crc32(checked) !== header.u32(16) || size < 128 || count * size > MOST_ENTRIES) return undefined;
  const entries = await disk.read(header.u64(72) * sector, count * size);
  if (entries.array.length < count * size || crc32(entries.array) !== header.u32(88)) return undefined;
  const parts: Partition[] = [];
  for (let at = 0; at < count * size && parts.length < MOST_PARTS; at += size) {
    const part = gptPart(new ByteReader(entries.part(at, size)), sector);
    if (part) parts.push(part);
  }
  return parts;
}

function gptPart(entry: ByteReader, sector: number): Partition | undefined {
  const type = guid(entry, 0);
  const [first, last] = [entry.u64(32), entry.u64(40)];
  if (/^[0-]+$/.test(type) || last < first || last >= Number.MAX_SAFE_INTEGER / sector) return undefined;
  const name = entry.text(56, 72, 'utf-16le');
  return {
    offset: first * sector,
    length: (last - first + 1) * sector,
    ...(name === '' ? {} : { name }),
    ...(Object.hasOwn(GPT_TYPES, type) ? { type: GPT_TYPES[type]! } : {}),
  };
}

/** A GUID in its usual notation. */
function guid(bytes: ByteReader, at: number): string {
  const hex = (order: number[]) =>
    order
      .map((index) =>
        bytes
          .u8(at + index)
          .toString(16)
          .padStart(2, '0'),
      )
      .join('');
  const groups = [
    [3, 2, 1, 0],
    [5, 4],
    [7, 6],
    [8, 9],
    [10, 11, 12, 13, 14, 15],
  ];
  return groups.map(hex).join('-').toUpperCase();
}

interface MbrEntry {
  type: number;
  /** The first sector, relative to the base of the entry. */
  first: number;
  sectors: number;
}

/** The used entries of the table in the sector `number`; `undefined` if there is no table. */
async function readMbr(disk: Disk, number: number): Promise<MbrEntry[] | undefined> {
  const sector = await disk.read(number * SECTOR, SECTOR);
  if (sector.u16(510) !== 0xaa55) return undefined;
  const entries = [0, 1, 2, 3].map((index) => MBR_ENTRIES + index * ENTRY);
  // Boot code of a file system is not a table.
  if (entries.some((at) => (sector.u8(at) & 0x7f) !== 0)) return undefined;
  return entries
    .map((at) => ({ type: sector.u8(at + 4), first: sector.u32(at + 8), sectors: sector.u32(at + 12) }))
    .filter(({ type, sectors }) => type !== 0 && sectors > 0);
}

async function mbrTable(disk: Disk, entries: MbrEntry[]): Promise<PartitionTable | undefined> {
  if (entries.length === 0) return undefined;
  const parts: Partition[] = [];
  let isDamaged = false;
  for (const entry of entries) {
    if (!EXTENDED.includes(entry.type)) parts.push(mbrPart(entry, 0));
    else isDamaged = !(await addLogical(disk, entry.first, parts)) || isDamaged;
  }
  return { kind: 'MBR', partitions: parts, damaged: isDamaged };
}

/**
 * Adds the logical partitions of the extended partition at the sector `start`, whose tables form a linked list. Resolves to
 * whether all tables were readable.
 */
async function addLogical(disk: Disk, start: number, parts: Partition[]): Promise<boolean> {
  let number = start;
  while (parts.length < MOST_PARTS) {
    const entries = await readMbr(disk, number);
    if (!entries) return false;
    for (const entry of entries) if (!EXTENDED.includes(entry.type)) parts.push(mbrPart(entry, number));
    const link = entries.find(({ type }) => EXTENDED.includes(type));
    if (!link) return true;
    // Sectors must ascend, so that the list ends.
    if (start + link.first <= number) return false;
    number = start + link.first;
  }
  return true;
}

const mbrPart = ({ type, first, sectors }: MbrEntry, base: number): Partition => ({
  offset: (base + first) * SECTOR,
  length: sectors * SECTOR,
  ...(Object.hasOwn(MBR_TYPES, type) ? { type: MBR_TYPES[type]! } : {}),
});

/** The length of an MBR's boot code, in bytes. Its table follows. */
const CODE = 440;
const ENTRIES = [446, 462, 478, 494];
const ACTIVE = 0x80;

/** Signs of UEFI: an EFI system partition. Of BIOS: a partition for its boot code, or an MBR that leads to the system. */
export async function firmwareOf(disk: Disk, { kind, partitions: parts }: PartitionTable): Promise<Firmware[]> {
  const has = (wanted: string) => parts.some(({ type }) => type === wanted);
  const found: Firmware[] = [];
  if (has('EFI system')) found.push('efi');
  if (has('BIOS boot') || (kind === 'MBR' && (await isStarted(disk)))) found.push('bios');
  return found;
}

/** Whether the MBR has boot code, and an active partition or GRUB. Tools write code that starts nothing to disks for data. */
async function isStarted(disk: Disk): Promise<boolean> {
  const mbr = await disk.read(0, 512);
  const code = mbr.part(0, CODE);
  const isActive = ENTRIES.some((at) => mbr.u8(at) === ACTIVE);
  return code.some((byte) => byte !== 0) && (isActive || new TextDecoder('latin1').decode(code).includes('GRUB'));
}
