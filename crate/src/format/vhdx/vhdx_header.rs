//! The header section (MS-VHDX 2.2): two headers and two region tables, each a copy of the other.

use super::guid::{shown_guid, unknown};
use super::structures::{
    BAT, HEADER_SIGNATURE, HEADER_SIZE, HEADERS, LOG_VERSION, METADATA, MIB, REGION_REQUIRED, REGION_SIGNATURE,
    REGION_TABLE_SIZE, REGION_TABLES, RegionTableEntry, RegionTableHeader, SIGNATURE, VERSION, VhdxHeader, checksum,
};
use crate::error::{Error, Result, ensure_header};
use crate::io::source::{Source, read_exact, read_start};
use crate::offsets::{ByteRange, HostOffset};

/// Whether `bytes` begin with `signature` and their checksum.
fn is_intact(bytes: &[u8], signature: &[u8; 4]) -> bool {
    bytes.starts_with(signature) && bytes[4..8] == checksum(bytes).to_le_bytes()
}

impl VhdxHeader {
    /// Reads the current header of a file that begins as a VHDX does: the intact one with the higher sequence number.
    /// Returns it, and whether it is intact. Fails with `not-recognised`, `corrupt` or `unsupported`, and as reading
    /// does. A salvage accepts a wrong checksum.
    pub(super) async fn read(source: &dyn Source, salvage: bool) -> Result<(Self, bool)> {
        let end = HEADERS[1] + HEADER_SIZE;
        let bytes = read_start(source, end).await?;
        if !bytes.starts_with(&SIGNATURE) {
            return Err(Error::other_format("The file is not a VHDX image", super::FORMAT.name));
        }
        ensure_header(end, source.size())?;
        let page = |at: u64| &bytes[at as usize..][..HEADER_SIZE as usize];
        let mut newest: Option<Self> = None;
        for at in HEADERS.into_iter().filter(|&at| is_intact(page(at), &HEADER_SIGNATURE)) {
            let header = Self::parse(page(at));
            match &newest {
                Some(known) if known.sequence_number == header.sequence_number => {
                    if known.to_bytes()[8..] != header.to_bytes()[8..] && !salvage {
                        let what = "both headers have the same sequence number, but differ";
                        return Err(Error::corrupt(what, HostOffset(HEADERS[1] + Self::sequence_number)));
                    }
                }
                Some(known) if known.sequence_number > header.sequence_number => {}
                _ => newest = Some(header),
            }
        }
        let is_intact = newest.is_some();
        let damaged = HEADERS.into_iter().filter(|&at| salvage && page(at).starts_with(&HEADER_SIGNATURE));
        let damaged = damaged.map(|at| Self::parse(page(at))).max_by_key(|header| header.sequence_number);
        let Some(header) = newest.or(damaged) else {
            return Err(Error::corrupt("neither header has its checksum", HostOffset(HEADERS[0])));
        };
        if header.version != VERSION {
            return Err(Error::unknown_version(header.version, "VHDX"));
        }
        if header.has_log() && header.log_version != LOG_VERSION {
            return Err(Error::unknown_version(header.log_version, "the log of a VHDX"));
        }
        Ok((header, is_intact))
    }

    /// The header without a log, whose place may be wrong.
    pub(super) fn without_log(self) -> Self {
        Self { log_guid: [0; 16], log_length: 0, ..self }
    }

    /// Whether the log may have changes that are not in their places.
    pub(super) fn has_log(&self) -> bool {
        self.log_guid != [0; 16]
    }

    /// Returns the part of the file with the log, even if that has nothing; `None` if its place is invalid.
    pub(super) fn log(&self) -> Option<ByteRange> {
        region(self.log_offset, self.log_length)
    }
}

/// Returns the part of the file with a region, if its place and length are valid.
fn region(offset: u64, length: u32) -> Option<ByteRange> {
    let is_valid = offset >= MIB && offset.is_multiple_of(MIB) && length > 0 && u64::from(length).is_multiple_of(MIB);
    ByteRange::new(HostOffset(offset), length.into()).filter(|_| is_valid)
}

/// The regions of a file (2.2.3).
pub(super) struct Regions {
    pub(super) bat: ByteRange,
    pub(super) metadata: ByteRange,
    /// All regions, the log and the header section, in ascending order, without overlap.
    pub(super) all: Vec<ByteRange>,
    /// Whether both tables are intact, but place the regions differently.
    pub(super) tables_differ: bool,
}

impl Regions {
    /// Reads the first intact region table of a file with its log at `log`. Fails with `corrupt` or `unsupported`, and
    /// as reading does. A salvage accepts a wrong checksum.
    pub(super) async fn read(source: &dyn Source, log: Option<ByteRange>, salvage: bool) -> Result<Self> {
        let start = HostOffset(REGION_TABLES[0]);
        // The second table may be missing.
        let len = (2 * REGION_TABLE_SIZE).min(source.size().saturating_sub(start.0)).max(REGION_TABLE_SIZE);
        let bytes = read_exact(source, ByteRange { start, len }, "region table").await?;
        let tables = || bytes.chunks_exact(REGION_TABLE_SIZE as usize).zip(REGION_TABLES);
        let intact = || tables().filter(|(table, _)| is_intact(table, &REGION_SIGNATURE));
        let damaged = || tables().find(|(table, _)| salvage && table.starts_with(&REGION_SIGNATURE));
        let second = intact().nth(1).map(|(table, offset)| Self::parse(table, offset, log));
        match intact().next().or_else(damaged) {
            Some((table, offset)) => {
                let first = Self::parse(table, offset, log)?;
                let places = |regions: &Self| (regions.bat, regions.metadata);
                let tables_differ =
                    second.is_some_and(|other| other.map_or(true, |other| places(&other) != places(&first)));
                Ok(Self { tables_differ, ..first })
            }
            None => Err(Error::corrupt("neither region table has its checksum", start)),
        }
    }

    /// Parses the region table `bytes`, which is at `table`.
    fn parse(bytes: &[u8], table: u64, log: Option<ByteRange>) -> Result<Self> {
        let (header, entries) = bytes.split_at(RegionTableHeader::LEN);
        let count = RegionTableHeader::parse(header).entry_count;
        let entries = entries.as_chunks::<{ RegionTableEntry::LEN }>().0;
        if count as usize > entries.len() {
            let what = format!("the region table has {count} entries, more than it has room for");
            return Err(Error::corrupt(what, HostOffset(table + RegionTableHeader::entry_count)));
        }
        let (mut bat, mut metadata) = (None, None);
        let mut all = vec![ByteRange { start: HostOffset(0), len: MIB }];
        all.extend(log);
        for (number, bytes) in entries[..count as usize].iter().enumerate() {
            let entry = RegionTableEntry::parse(bytes);
            let place = HostOffset(table + (RegionTableHeader::LEN + number * RegionTableEntry::LEN) as u64);
            let corrupt =
                |what: &str| Err(Error::corrupt(format!("the region {} {what}", shown_guid(&entry.guid)), place));
            let Some(range) = region(entry.file_offset, entry.length) else {
                return corrupt("is not in whole MiB after the header section");
            };
            all.push(range);
            let known = match entry.guid {
                BAT => &mut bat,
                METADATA => &mut metadata,
                _ if entry.required & REGION_REQUIRED != 0 => return Err(unknown("region", &entry.guid)),
                _ => continue,
            };
            if known.replace(range).is_some() {
                return corrupt("is listed twice");
            }
        }
        all.sort_by_key(|range| range.start);
        if let Some(two) = all.windows(2).find(|two| two[0].end() > two[1].start.0) {
            return Err(Error::corrupt("two regions overlap", two[1].start));
        }
        match (bat, metadata) {
            (Some(bat), Some(metadata)) => Ok(Self { bat, metadata, all, tables_differ: false }),
            _ => {
                let what =
                    format!("the region {} is missing", shown_guid(if bat.is_none() { &BAT } else { &METADATA }));
                Err(Error::corrupt(what, HostOffset(table)))
            }
        }
    }
}
