//! The log (MS-VHDX 2.3): a ring of entries, each with pages that may not be in their places yet.

use super::guid::Guid;
use super::replay::{LoggedPage, PAGE, Replay};
use super::structures::{LARGEST_DISK, REGION_TABLES, checksum};
use crate::error::damage::ensure_possible;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, MAX_SIZE};
use crate::structure::structure;
use decant_codec::crc::crc32c;

/// Largest log, in bytes. Hyper-V makes one of 1 MiB.
const LARGEST: u64 = 1 << 30;
/// Length of the part of the log in memory, in bytes.
const WINDOW: u64 = 64 << 10;
/// The signature of an entry.
const SIGNATURE: [u8; 4] = *b"loge";
const PAGE_LEN: usize = PAGE as usize;

structure! {
    /// "Entry Header" (2.3.1.1).
    struct EntryHeader: Little {
        signature: [u8; 4] = 0,
        checksum: u32 = 4,
        entry_length: u32 = 8,
        tail: u32 = 12,
        sequence_number: u64 = 16,
        descriptor_count: u32 = 24,
        reserved: u32 = 28,
        log_guid: Guid = 32,
        flushed_file_offset: u64 = 48,
        last_file_offset: u64 = 56,
    }
}

structure! {
    /// "Data Descriptor" and "Zero Descriptor" (2.3.1.2, 2.3.1.3). A zero descriptor has its length in the place of the
    /// leading bytes.
    struct Descriptor: Little {
        signature: [u8; 4] = 0,
        trailing_bytes: [u8; 4] = 4,
        leading_bytes: [u8; 8] = 8,
        file_offset: u64 = 16,
        sequence_number: u64 = 24,
    }
}

structure! {
    /// "Data Sector" (2.3.1.4).
    struct DataSector: Little {
        signature: [u8; 4] = 0,
        sequence_high: u32 = 4,
        sequence_low: u32 = 4092,
    }
}

impl EntryHeader {
    /// The distance from the start of the entry to its data sectors.
    fn data_start(&self) -> u64 {
        (Self::LEN as u64 + u64::from(self.descriptor_count) * Descriptor::LEN as u64).next_multiple_of(PAGE)
    }
}

/// The checksum of a part of an entry, or, if it is invalid, the distance from the start of the entry to the next page that
/// may begin one.
type Checked = std::result::Result<u32, u64>;

/// Entries that follow one another.
struct Sequence {
    /// Where the first one begins, in the log.
    start: u64,
    /// The length of all entries.
    len: u64,
    last: EntryHeader,
}

impl Sequence {
    /// The distance from its start to the first entry that is needed: the tail of the last one; `None` if that is not
    /// in the sequence, which then is not whole.
    fn tail(&self, log: u64) -> Option<u64> {
        let distance = (u64::from(self.last.tail) + log - self.start) % log;
        (distance < self.len).then_some(distance)
    }
}

/// A log in a file. Offsets count from its start, and wrap at its end.
struct Log<'a> {
    source: &'a dyn Source,
    range: ByteRange,
    guid: Guid,
    /// The part in memory, and its offset.
    window: Vec<u8>,
    window_start: u64,
}

/// Reads the changes in the log at `range`, which has entries of `guid`. Fails with `corrupt` if there are none, with
/// `limit`, and as reading does.
pub(super) async fn read(source: &dyn Source, range: ByteRange, guid: Guid) -> Result<Replay> {
    if range.len > LARGEST {
        return Err(too_large(range));
    }
    ensure_possible("log", range.start, LARGEST_DISK, source.size())?;
    if range.end() > source.size() {
        return Err(Error::truncated("the log", range.start, source.size()));
    }
    let mut log = Log { source, range, guid, window: Vec::new(), window_start: 0 };
    let damaged = || Error::corrupt("the log has no valid entries", range.start).coded("vhdx-log");
    let sequence = log.newest().await?.ok_or_else(damaged)?;
    let EntryHeader { flushed_file_offset, last_file_offset, .. } = sequence.last;
    let mut replay = Replay::new(source.size(), flushed_file_offset, last_file_offset);
    let mut at = sequence.tail(range.len).ok_or_else(damaged)?;
    while at < sequence.len {
        let start = (sequence.start + at) % range.len;
        let (entry, len) = log.entry(start, None, Some(&mut replay)).await?;
        entry.ok_or_else(damaged)?;
        at += len;
    }
    replay.finish();
    Ok(replay)
}

/// Whether the log at `range` may have entries, of any log: something begins as one, or the log cannot be read. Fails as
/// reading does.
pub(super) async fn has_entries(source: &dyn Source, range: ByteRange) -> Result<bool> {
    let end = range.end();
    if end > source.size() || range.len > LARGEST {
        return Ok(true);
    }
    for start in (range.start.0..end).step_by(WINDOW as usize) {
        let window = ByteRange { start: HostOffset(start), len: WINDOW.min(end - start) };
        let bytes = read_exact(source, window, "log").await?;
        if bytes.chunks(PAGE_LEN).any(|page| page.starts_with(&SIGNATURE)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn too_large(range: ByteRange) -> Error {
    let message = format!("The log of {} bytes at byte {} of the file is too large", range.len, range.start.0);
    Error::new(ErrorKind::Limit, message).field("offset", range.start.0)
}

impl Log<'_> {
    /// Finds the newest sequence that is whole (2.3.3). Each page is checked a few times at most: an entry has no page
    /// that another one can begin with.
    async fn newest(&mut self) -> Result<Option<Sequence>> {
        let log = self.range.len;
        let mut newest: Option<Sequence> = None;
        let mut at = 0;
        while at < log {
            let (first, len) = self.entry(at, None, None).await?;
            let Some(first) = first else {
                at += len;
                continue;
            };
            let mut sequence = Sequence { start: at, len, last: first };
            while sequence.len < log {
                let next = sequence.last.sequence_number.checked_add(1);
                let (entry, len) = self.entry((at + sequence.len) % log, next, None).await?;
                match entry.filter(|_| sequence.len + len <= log) {
                    Some(last) => sequence = Sequence { len: sequence.len + len, last, ..sequence },
                    None => break,
                }
            }
            at += sequence.len;
            let number = |sequence: &Sequence| sequence.last.sequence_number;
            if sequence.tail(log).is_some() && newest.as_ref().is_none_or(|newest| number(newest) < number(&sequence)) {
                newest = Some(sequence);
            }
        }
        Ok(newest)
    }

    /// Reads the entry at `at`, with the sequence number `expected` if there is one, and adds its changes to `replay`.
    /// Returns its header, or `None` if it is invalid, and the distance to the next page that may begin an entry.
    async fn entry(
        &mut self,
        at: u64,
        expected: Option<u64>,
        replay: Option<&mut Replay>,
    ) -> Result<(Option<EntryHeader>, u64)> {
        let header = EntryHeader::parse(self.page(at).await?);
        if !self.is_valid(&header, expected) {
            return Ok((None, PAGE));
        }
        let sum = match self.descriptors(at, &header, replay).await? {
            Ok(sum) => sum,
            Err(next) => return Ok((None, next)),
        };
        Ok(match self.data(at, &header, sum).await? {
            Ok(sum) => ((sum == header.checksum).then_some(header), header.entry_length.into()),
            Err(next) => (None, next),
        })
    }

    /// Whether the fields of `header` are valid, with the sequence number `expected` if there is one.
    fn is_valid(&self, header: &EntryHeader, expected: Option<u64>) -> bool {
        let (log, len, tail) = (self.range.len, u64::from(header.entry_length), u64::from(header.tail));
        header.signature == SIGNATURE
            && header.log_guid == self.guid
            && header.sequence_number > 0
            && expected.is_none_or(|expected| expected == header.sequence_number)
            && (header.data_start()..log).contains(&len)
            && len.is_multiple_of(PAGE)
            && tail < log
            && tail.is_multiple_of(PAGE)
    }

    /// Reads the descriptors of the entry at `at`, and adds their changes to `replay`. Returns the checksum of the pages
    /// with them.
    async fn descriptors(&mut self, at: u64, header: &EntryHeader, mut replay: Option<&mut Replay>) -> Result<Checked> {
        let log = self.range;
        let &EntryHeader { sequence_number, descriptor_count, .. } = header;
        let mut data = header.data_start();
        let (mut sum, mut number) = (0, 0);
        for start in (0..header.data_start()).step_by(PAGE_LEN) {
            let page = *self.page((at + start) % log.len).await?;
            let skipped = if start == 0 { EntryHeader::LEN } else { 0 };
            sum = if start == 0 { checksum(&page) } else { crc32c(sum, &page) };
            for bytes in page[skipped..].chunks_exact(Descriptor::LEN).take((descriptor_count - number) as usize) {
                let descriptor = Descriptor::parse(bytes);
                let Some(change) = self.change(&descriptor, sequence_number) else {
                    return Ok(Err(start.max(PAGE)));
                };
                number += 1;
                let content = (descriptor.signature == *b"desc").then(|| {
                    let Descriptor { leading_bytes: leading, trailing_bytes: trailing, .. } = descriptor;
                    data += PAGE;
                    LoggedPage { host: HostOffset(log.start.0 + (at + data - PAGE) % log.len), leading, trailing }
                });
                if let Some(replay) = &mut replay
                    && !replay.add(change, content)
                {
                    return Err(too_large(log));
                }
            }
        }
        Ok(if data == u64::from(header.entry_length) { Ok(sum) } else { Err(PAGE) })
    }

    /// Reads the data sectors of the entry at `at`, whose earlier pages have the checksum `sum`. Returns that of all.
    async fn data(&mut self, at: u64, header: &EntryHeader, mut sum: u32) -> Result<Checked> {
        for start in (header.data_start()..header.entry_length.into()).step_by(PAGE_LEN) {
            let page = self.page((at + start) % self.range.len).await?;
            let sector = DataSector::parse(page);
            let stated = u64::from(sector.sequence_high) << 32 | u64::from(sector.sequence_low);
            if sector.signature != *b"data" || stated != header.sequence_number {
                return Ok(Err(start));
            }
            sum = crc32c(sum, page);
        }
        Ok(Ok(sum))
    }

    /// The range of the file that `descriptor`, of the entry `sequence_number`, changes; `None` if it is invalid.
    fn change(&self, descriptor: &Descriptor, sequence_number: u64) -> Option<ByteRange> {
        let len = match &descriptor.signature {
            b"desc" => PAGE,
            b"zero" => u64::from_le_bytes(descriptor.leading_bytes),
            _ => return None,
        };
        let range = ByteRange::new(HostOffset(descriptor.file_offset), len)?;
        let is_in_log = range.start.0 < self.range.end() && range.end() > self.range.start.0;
        let is_valid = descriptor.sequence_number == sequence_number
            && range.start.0 >= REGION_TABLES[0]
            && range.start.0.is_multiple_of(PAGE)
            && len.is_multiple_of(PAGE)
            && range.end() <= MAX_SIZE
            && !is_in_log;
        is_valid.then_some(range)
    }

    /// Reads the page at `at`, which must be whole and in the log.
    async fn page(&mut self, at: u64) -> Result<&[u8; PAGE_LEN]> {
        let start = at / WINDOW * WINDOW;
        if self.window.is_empty() || self.window_start != start {
            // The log is a whole number of windows.
            let range = ByteRange { start: HostOffset(self.range.start.0 + start), len: WINDOW };
            self.window = read_exact(self.source, range, "log").await?;
            self.window_start = start;
        }
        Ok(self.window[(at - start) as usize..].first_chunk().expect("a whole page"))
    }
}
