// Partition tables: GPT (UEFI Specification 2.10, chapter 5) and MBR.

import { ByteReader, crc32 } from './bytes.js';
import type { Disk } from './disk.js';
import type { Partition, Table } from './disk-contents.js';
import { GPT_TYPES, MBR_TYPES } from './partition-types.js';

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
export async function tableOf(disk: Disk): Promise<Table | undefined> {
  const mbr = await readMbr(disk, 0);
  const gpt = await findGpt(disk);
  if (gpt) return gpt;
  if (!mbr) return undefined;
  // A protective MBR whose GPT is lost.
  if (mbr.some(({ type }) => type === PROTECTIVE)) return { kind: 'GPT', parts: [], isDamaged: true };
  return mbrTable(disk, mbr);
}

/** The GPT at the start of the disk, or its backup at the end. */
async function findGpt(disk: Disk): Promise<Table | undefined> {
  for (const isCopy of [false, true]) {
    for (const sector of GPT_SECTORS) {
      const sectors = Math.floor(disk.size / sector);
      const parts = await readGpt(disk, sector, isCopy ? sectors - 1 : 1);
      if (parts) return { kind: 'GPT', parts, isDamaged: isCopy };
    }
  }
  return undefined;
}

/** The partitions of the GPT whose header is in the sector `place`; `undefined` if there is no intact one. */
async function readGpt(disk: Disk, sector: number, place: number): Promise<Partition[] | undefined> {
  if (place < 1) return undefined;
  const header = await disk.read(place * sector, sector);
  const length = header.u32(12);
  if (!header.has('EFI PART', 0) || length < 92 || length > sector || header.u64(24) !== place) return undefined;
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
    size: (last - first + 1) * sector,
    ...(name === '' ? {} : { name }),
    ...(Object.hasOwn(GPT_TYPES, type) ? { type: GPT_TYPES[type]! } : {}),
  };
}

/** A GUID in its usual notation. */
function guid(bytes: ByteReader, at: number): string {
  const hex = (order: number[]) =>
    order
      .map((place) =>
        bytes
          .u8(at + place)
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

/** The used entries of the table in the sector `place`; `undefined` if there is no table. */
async function readMbr(disk: Disk, place: number): Promise<MbrEntry[] | undefined> {
  const sector = await disk.read(place * SECTOR, SECTOR);
  if (sector.u16(510) !== 0xaa55) return undefined;
  const entries = [0, 1, 2, 3].map((index) => MBR_ENTRIES + index * ENTRY);
  // Boot code of a file system is not a table.
  if (entries.some((at) => (sector.u8(at) & 0x7f) !== 0)) return undefined;
  return entries
    .map((at) => ({ type: sector.u8(at + 4), first: sector.u32(at + 8), sectors: sector.u32(at + 12) }))
    .filter(({ type, sectors }) => type !== 0 && sectors > 0);
}

async function mbrTable(disk: Disk, entries: MbrEntry[]): Promise<Table | undefined> {
  if (entries.length === 0) return undefined;
  const parts: Partition[] = [];
  let isDamaged = false;
  for (const entry of entries) {
    if (!EXTENDED.includes(entry.type)) parts.push(mbrPart(entry, 0));
    else isDamaged = !(await addLogical(disk, entry.first, parts)) || isDamaged;
  }
  return { kind: 'MBR', parts, isDamaged };
}

/**
 * Adds the logical partitions of the extended partition at the sector `start`, whose tables form a linked list. Resolves to
 * whether all tables were readable.
 */
async function addLogical(disk: Disk, start: number, parts: Partition[]): Promise<boolean> {
  let place = start;
  while (parts.length < MOST_PARTS) {
    const entries = await readMbr(disk, place);
    if (!entries) return false;
    for (const entry of entries) if (!EXTENDED.includes(entry.type)) parts.push(mbrPart(entry, place));
    const link = entries.find(({ type }) => EXTENDED.includes(type));
    if (!link) return true;
    // Sectors must ascend, so that the list ends.
    if (start + link.first <= place) return false;
    place = start + link.first;
  }
  return true;
}

const mbrPart = ({ type, first, sectors }: MbrEntry, base: number): Partition => ({
  offset: (base + first) * SECTOR,
  size: sectors * SECTOR,
  ...(Object.hasOwn(MBR_TYPES, type) ? { type: MBR_TYPES[type]! } : {}),
});
