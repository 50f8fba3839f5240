//! The GUID partition table (GPT) of a disk (UEFI Specification 2.10, chapter 5), and its move to the end of a disk that grows.

use crate::offsets::{GuestRange, le32, le64};
use decant_codec::crc;

/// A rewritten range of the disk: with its new bytes, or, for a digest of the image, with its original bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    /// The guest offset.
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

impl Patch {
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes that [`Self::apply`] replaces.
    pub(super) fn original(&self, start: u64, chunk: &[u8]) -> Option<Self> {
        let (first, end) = (self.start.max(start), self.end().min(start + chunk.len() as u64));
        let bytes = || chunk[(first - start) as usize..(end - start) as usize].to_vec();
        (first < end).then(|| Self { start: first, bytes: bytes() })
    }

    /// Puts the bytes into `chunk`, a part of the disk from `start` on, as far as they belong there.
    pub(super) fn apply(&self, start: u64, chunk: &mut [u8]) {
        let (first, end) = (self.start.max(start), self.end().min(start + chunk.len() as u64));
        if first < end {
            let bytes = &self.bytes[(first - self.start) as usize..(end - self.start) as usize];
            chunk[(first - start) as usize..(end - start) as usize].copy_from_slice(bytes);
        }
    }

    pub(super) fn range(&self) -> GuestRange {
        GuestRange::from(self.start..self.end())
    }
}

/// The length of the start of the disk that [`Gpt::find`] reads, in bytes: two sectors of the largest size.
pub(super) const START: u64 = 2 * 4096;
const SIGNATURE: &[u8] = b"EFI PART";
/// Length of the fields of a header, in bytes, and their positions (table 5.5).
const HEADER: usize = 92;
const LENGTH_AT: usize = 12;
const CHECKSUM_AT: usize = 16;
const PLACE_AT: usize = 24;
const ALTERNATE_AT: usize = 32;
const FIRST_USABLE_AT: usize = 40;
const LAST_USABLE_AT: usize = 48;
const ENTRIES_AT: usize = 72;
const COUNT_AT: usize = 80;
const ENTRY_SIZE_AT: usize = 84;
const ENTRIES_CHECKSUM_AT: usize = 88;
/// The size of the smallest entry, and positions in it (table 5.6).
const ENTRY: u32 = 128;
const ENTRY_END_AT: usize = 40;
/// The most bytes of all entries: 8,192 of the smallest.
const MOST_ENTRIES: u64 = 1 << 20;
/// Partitions in an MBR: the position of the first, their size and number. Type, start and length are at these positions.
const MBR: usize = 446;
const MBR_ENTRY: usize = 16;
const TYPE_AT: usize = 4;
const START_AT: usize = 8;
const SECTORS_AT: usize = 12;
const PROTECTIVE: u8 = 0xee;

/// Why the backup GPT of a disk is not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmoved {
    /// The disk has no GPT.
    NoGpt,
    /// The backup GPT is at the end of the disk already.
    AtEnd,
    /// The primary GPT is damaged in this way.
    Damaged(&'static str),
}

/// The primary GPT of a disk.
pub(super) struct Gpt {
    /// The size of sectors, in bytes.
    sector: u64,
    /// The first sector of the disk.
    mbr: Vec<u8>,
    /// The sector with the header.
    header: Vec<u8>,
}

/// Whether `start`, the start of a disk, has an intact header of a GPT for sectors of `sector` bytes.
pub(super) fn has_header(start: &[u8], sector: u64) -> bool {
    header_in(start, sector).is_some_and(is_intact)
}

fn header_in(start: &[u8], sector: u64) -> Option<&[u8]> {
    start.get(sector as usize..2 * sector as usize).filter(|header| header.starts_with(SIGNATURE))
}

fn is_intact(header: &[u8]) -> bool {
    let len = le32(header, LENGTH_AT) as usize;
    (HEADER..=header.len()).contains(&len) && le64(header, PLACE_AT) == 1 && {
        le32(header, CHECKSUM_AT) == checksum(header, len)
    }
}

fn checksum(header: &[u8], len: usize) -> u32 {
    let mut checked = header[..len].to_vec();
    checked[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    crc::crc32(&checked)
}

/// The partitions of the MBR `mbr`: those with a type.
fn partitions(mbr: &[u8]) -> impl Iterator<Item = usize> {
    (0..4).map(|number| MBR + number * MBR_ENTRY).filter(|&at| mbr[at + TYPE_AT] != 0)
}

impl Gpt {
    /// Finds the primary GPT of a disk that begins with `start`, of [`START`] bytes unless the disk is smaller.
    pub(super) fn find(start: &[u8]) -> Result<Self, Unmoved> {
        let sizes = [512, 4096];
        let found = sizes.into_iter().find(|&sector| has_header(start, sector));
        if let Some(sector) = found {
            let (mbr, header) = start[..2 * sector as usize].split_at(sector as usize);
            return Ok(Self { sector, mbr: mbr.to_vec(), header: header.to_vec() });
        }
        let is_protected = start.get(..512).is_some_and(|mbr| {
            mbr.ends_with(&[0x55, 0xaa]) && partitions(mbr).any(|at| mbr[at + TYPE_AT] == PROTECTIVE)
        });
        let is_damaged = is_protected || sizes.into_iter().any(|sector| header_in(start, sector).is_some());
        Err(if is_damaged { Unmoved::Damaged("its header is not intact") } else { Unmoved::NoGpt })
    }

    fn field(&self, at: usize) -> u64 {
        le64(&self.header, at)
    }

    fn entry_size(&self) -> u32 {
        le32(&self.header, ENTRY_SIZE_AT)
    }

    fn entries_len(&self) -> u64 {
        u64::from(le32(&self.header, COUNT_AT)) * u64::from(self.entry_size())
    }

    /// Where the entries are on a disk of `disk_size` bytes: offset and length.
    pub(super) fn entries(&self, disk_size: u64) -> Result<(u64, u64), Unmoved> {
        let (len, size) = (self.entries_len(), self.entry_size());
        if size < ENTRY || !(size / ENTRY).is_power_of_two() || size % ENTRY != 0 || len == 0 || len > MOST_ENTRIES {
            return Err(Unmoved::Damaged("its header states an unusual number or size of entries"));
        }
        let place = self.field(ENTRIES_AT);
        let first_usable = self.field(FIRST_USABLE_AT);
        let end = place.saturating_add(len.div_ceil(self.sector));
        if place < 2 || end > first_usable || first_usable > disk_size / self.sector {
            return Err(Unmoved::Damaged("its header states an impossible place of its entries"));
        }
        Ok((place * self.sector, len))
    }

    /// Moves the backup of the GPT to the end of a disk of `disk_size` bytes, as `sgdisk -e` does. Returns the rewritten ranges, ascending.
    /// `entries` are the bytes of [`Self::entries`].
    pub(super) fn moved(&self, entries: &[u8], disk_size: u64) -> Result<Vec<Patch>, Unmoved> {
        if crc::crc32(entries) != le32(&self.header, ENTRIES_CHECKSUM_AT) {
            return Err(Unmoved::Damaged("its entries are not intact"));
        }
        let sectors = disk_size / self.sector;
        let taken = self.entries_len().div_ceil(self.sector);
        let last_partition = entries
            .chunks(self.entry_size() as usize)
            .filter(|entry| entry[..16].iter().any(|&byte| byte != 0))
            .map(|entry| le64(entry, ENTRY_END_AT))
            .max()
            .unwrap_or(0);
        // The backup has its entries, then its header in the last sector.
        let last_usable = sectors.checked_sub(taken + 2).filter(|&last| last >= self.field(FIRST_USABLE_AT));
        let Some(last_usable) = last_usable.filter(|&last| last >= last_partition) else {
            return Err(Unmoved::Damaged("its partitions reach beyond the end of the disk"));
        };
        if self.field(ALTERNATE_AT) == sectors - 1 {
            return Err(Unmoved::AtEnd);
        }
        let mut primary = self.header.clone();
        put(&mut primary, ALTERNATE_AT, &(sectors - 1).to_le_bytes());
        put(&mut primary, LAST_USABLE_AT, &last_usable.to_le_bytes());
        let mut backup = primary.clone();
        put(&mut backup, PLACE_AT, &(sectors - 1).to_le_bytes());
        put(&mut backup, ALTERNATE_AT, &1_u64.to_le_bytes());
        put(&mut backup, ENTRIES_AT, &(last_usable + 1).to_le_bytes());
        for header in [&mut primary, &mut backup] {
            let sum = checksum(header, le32(header, LENGTH_AT) as usize);
            put(header, CHECKSUM_AT, &sum.to_le_bytes());
        }
        let mut end = entries.to_vec();
        end.resize((taken * self.sector) as usize, 0);
        end.extend(backup);
        let start = match self.protective_mbr(sectors) {
            Some(mbr) => Patch { start: 0, bytes: [mbr, primary].concat() },
            None => Patch { start: self.sector, bytes: primary },
        };
        Ok(vec![start, Patch { start: (last_usable + 1) * self.sector, bytes: end }])
    }

    /// The MBR that protects the whole disk. `None` if the MBR is another one, such as a hybrid MBR.
    fn protective_mbr(&self, sectors: u64) -> Option<Vec<u8>> {
        let mut partitions = partitions(&self.mbr);
        let (at, others) = (partitions.next()?, partitions.next());
        if others.is_some() || self.mbr[at + TYPE_AT] != PROTECTIVE || le32(&self.mbr, at + START_AT) != 1 {
            return None;
        }
        let mut mbr = self.mbr.clone();
        put(&mut mbr, at + SECTORS_AT, &u32::try_from(sectors - 1).unwrap_or(u32::MAX).to_le_bytes());
        Some(mbr)
    }
}

fn put(bytes: &mut [u8], at: usize, added: &[u8]) {
    bytes[at..at + added.len()].copy_from_slice(added);
}
