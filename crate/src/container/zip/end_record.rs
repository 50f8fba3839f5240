//! The records at the end of an archive, which state where the central directory is.

use super::damaged;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, le16};
use crate::structure::structure;

/// Signatures of the records.
pub(super) const END: [u8; 4] = *b"PK\x05\x06";
const ZIP64_LOCATOR: [u8; 4] = *b"PK\x06\x07";
const ZIP64_END: [u8; 4] = *b"PK\x06\x06";

structure! {
    /// The end of central directory record (section 4.3.16). A comment follows.
    struct EndRecord: Little {
        signature: [u8; 4] = 0,
        disk: u16 = 4,
        directory_disk: u16 = 6,
        entries_on_disk: u16 = 8,
        entries: u16 = 10,
        directory_size: u32 = 12,
        directory_offset: u32 = 16,
        comment_length: u16 = 20,
    }
}

structure! {
    /// The zip64 end of central directory locator (section 4.3.15), just before the end record.
    struct Zip64Locator: Little {
        signature: [u8; 4] = 0,
        disk: u32 = 4,
        record_offset: u64 = 8,
        disks: u32 = 16,
    }
}

structure! {
    /// The zip64 end of central directory record (section 4.3.14), version 1. Extensible data may follow, up to the locator.
    struct Zip64EndRecord: Little {
        signature: [u8; 4] = 0,
        size: u64 = 4,
        disk: u32 = 16,
        directory_disk: u32 = 20,
        entries_on_disk: u64 = 24,
        entries: u64 = 32,
        directory_size: u64 = 40,
        directory_offset: u64 = 48,
    }
}

/// Maximum number of entries, as of headers in a tar archive.
const MOST_ENTRIES: u64 = 4096;
/// Maximum size of the central directory, in bytes.
const LARGEST_DIRECTORY: u64 = 4 << 20;
/// Maximum length of the comment and the bytes after it, in bytes.
const LONGEST_END: usize = 0xffff;
/// Maximum length of the extensible data of the zip64 record, in bytes.
const LONGEST_EXTENSION: usize = 0xffff;
/// Maximum length of the records with the comment and the bytes after it, in bytes.
const LONGEST: u64 =
    (Zip64EndRecord::LEN + LONGEST_EXTENSION + Zip64Locator::LEN + EndRecord::LEN + LONGEST_END) as u64;

/// Numbers of 32 bits that programs without zip64 write are modulo this.
pub(super) const WRAP: u64 = 1 << 32;

/// Where the central directory is.
pub(super) struct CentralDirectory {
    pub(super) entries: u64,
    pub(super) range: ByteRange,
    /// The offset in the file from which the archive counts: other bytes may precede it.
    pub(super) base: u64,
    /// Whether numbers may be modulo [`WRAP`]: the archive has more bytes, but no zip64 records.
    pub(super) wraps: bool,
}

impl CentralDirectory {
    /// Finds the central directory of `source`. Fails with `corrupt`, with `unsupported` for a part of an archive, with
    /// `limit` if it is too large, and as reading does.
    pub(super) async fn find(source: &dyn Source) -> Result<Self> {
        let cut = || Error::truncated("the zip archive", HostOffset(0), source.size());
        let stated = Stated::find(source).await?.ok_or_else(cut)?;
        let after = stated.after;
        if let Some(refusal) = stated.refusal_of_last_part() {
            return Err(refusal);
        }
        if stated.disk > 0 || !stated.is_on_one_disk {
            return Err(damaged(stated.end));
        }
        if stated.entries > MOST_ENTRIES || stated.size > LARGEST_DIRECTORY {
            let message = format!(
                "The zip archive has {} entries in {} bytes, and Decant reads at most {MOST_ENTRIES} in {} MiB",
                stated.entries,
                stated.size,
                LARGEST_DIRECTORY >> 20
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        // The directory ends where the records begin.
        let start = stated.end.checked_sub(stated.size);
        let base = start.and_then(|start| start.checked_sub(stated.offset)).filter(|&base| stated.has_base(base));
        let (Some(start), Some(base)) = (start, base) else { return Err(damaged(stated.end)) };
        // In an archive that is cut off, these may be the end records of another zip archive, which is stored in it.
        if after > 0 && base > 0 {
            return Err(cut());
        }
        let range = ByteRange { start: HostOffset(start), len: stated.size };
        let wraps = stated.counted_end.is_none() && base >= WRAP;
        Ok(Self { entries: stated.entries, range, base: if wraps { base % WRAP } else { base }, wraps })
    }
}

/// Returns the position of the end record in `bytes`, the end of a file, and the number of bytes after its comment: as few as possible.
fn end_of(bytes: &[u8]) -> Option<(usize, usize)> {
    let last = bytes.len().checked_sub(EndRecord::LEN)?;
    let after = |at: usize| {
        let comment = usize::from(le16(bytes, at + EndRecord::comment_length as usize));
        Some((at, (last - at).checked_sub(comment)?))
    };
    let records = (last.saturating_sub(LONGEST_END)..=last).rev().filter(|&at| bytes[at..].starts_with(&END));
    records.filter_map(after).min_by_key(|(_, after)| *after)
}

/// Finds the zip64 record in `bytes` that ends at `end`, with its extensible data. Returns its position.
fn zip64_record(bytes: &[u8], end: usize) -> Option<(usize, Zip64EndRecord)> {
    let last = end.checked_sub(Zip64EndRecord::LEN)?;
    let records = (last.saturating_sub(LONGEST_EXTENSION)..=last).rev();
    let records = records.filter(|&at| bytes[at..].starts_with(&ZIP64_END));
    // The size does not count the signature and itself.
    let ends_there = |at: usize, record: &Zip64EndRecord| record.size == (end - at - 12) as u64;
    records.map(|at| (at, Zip64EndRecord::parse(&bytes[at..]))).find(|(at, record)| ends_there(*at, record))
}

/// The values of the end records.
pub(super) struct Stated {
    /// The number of this part, from 0.
    disk: u32,
    /// Whether the directory is in the first part, with all entries.
    is_on_one_disk: bool,
    entries: u64,
    size: u64,
    offset: u64,
    /// The offset of the first end record in the file.
    end: u64,
    /// The offset of that record as the archive states it, if it does; it counts from the start of the archive.
    counted_end: Option<u64>,
    /// The number of bytes after the comment.
    after: usize,
}

impl Stated {
    /// Reads the records at the end of `source`; `None` if there are none. Fails with `corrupt` if they contradict each other, and as
    /// reading does.
    pub(super) async fn find(source: &dyn Source) -> Result<Option<Self>> {
        let len = source.size().min(LONGEST);
        let range = ByteRange { start: HostOffset(source.size() - len), len };
        let bytes = read_exact(source, range, "end of the zip archive").await?;
        let Some((at, after)) = end_of(&bytes) else { return Ok(None) };
        Ok(Some(Self { after, ..Self::parse(&bytes, at, range.start.0)? }))
    }

    /// Returns the error for the last part of several, unless the file is another part, or is whole.
    pub(super) fn refusal_of_last_part(&self) -> Option<Error> {
        let parts = u64::from(self.disk) + 1;
        let message = format!(
            "The file is the last of {parts} parts of a zip archive; join them first (zip -s 0 in.zip --out whole.zip)"
        );
        let refusal = || Error::new(ErrorKind::Unsupported, message).coded("zip-part").field("parts", parts);
        (self.disk > 0 && self.after == 0).then(refusal)
    }

    /// Parses the records in `bytes`, which begin at `start` of the file. The end record is at `at`. Fails with
    /// `corrupt` if they contradict each other.
    fn parse(bytes: &[u8], at: usize, start: u64) -> Result<Self> {
        let end_record = EndRecord::parse(&bytes[at..]);
        let short = Self {
            disk: end_record.disk.into(),
            is_on_one_disk: end_record.directory_disk == 0 && end_record.entries_on_disk == end_record.entries,
            entries: end_record.entries.into(),
            size: end_record.directory_size.into(),
            offset: end_record.directory_offset.into(),
            end: start + at as u64,
            counted_end: None,
            after: 0,
        };
        let locator = at.checked_sub(Zip64Locator::LEN).map(|at| (at, Zip64Locator::parse(&bytes[at..])));
        let Some((at, locator)) = locator.filter(|(_, locator)| locator.signature == ZIP64_LOCATOR) else {
            return Ok(short);
        };
        let end = short.end;
        let (at, record) = zip64_record(bytes, at).ok_or_else(|| damaged(end))?;
        let long = Self {
            disk: record.disk,
            is_on_one_disk: record.directory_disk == 0
                && record.entries_on_disk == record.entries
                && locator.disk == 0
                && locator.disks <= 1,
            entries: record.entries,
            size: record.directory_size,
            offset: record.directory_offset,
            end: start + at as u64,
            counted_end: Some(locator.record_offset),
            after: 0,
        };
        let agrees = |short: u64, long: u64, most: u64| short == long || short == most;
        let is_consistent = agrees(end_record.disk.into(), record.disk.into(), u16::MAX.into())
            && agrees(end_record.directory_disk.into(), record.directory_disk.into(), u16::MAX.into())
            && agrees(end_record.entries_on_disk.into(), record.entries_on_disk, u16::MAX.into())
            && agrees(short.entries, long.entries, u16::MAX.into())
            && agrees(short.size, long.size, u32::MAX.into())
            && agrees(short.offset, long.offset, u32::MAX.into());
        if is_consistent { Ok(long) } else { Err(damaged(end)) }
    }

    /// Whether the archive may begin at the offset `base` of the file.
    fn has_base(&self, base: u64) -> bool {
        self.counted_end.is_none_or(|counted| counted.checked_add(base) == Some(self.end))
    }
}
