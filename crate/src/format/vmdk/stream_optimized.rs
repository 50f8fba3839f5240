//! Finds the grains of a stream-optimized extent by their markers (Virtual Disk Format 5.0, "Stream-Optimized
//! Compressed Sparse Extents"), in a salvage whose footer is lost, and with it the way to the grain directory.
//!
//! A stream has its grains in the order of the disk, each once. Reading ends where that is not so. A marker may be damaged
//! itself: a grain behind a hole counts only if what follows agrees with its place, and a hole only if the marker behind it
//! lies where the grain before it ends. A grain that is moved within the hole beside it agrees with both: it does not count
//! if its grain table has it elsewhere. Most writers put a table behind the grains that it names; where it is missing, such
//! a grain is not noticed.

use super::sparse::{ExtentFile, Sparse};
use crate::compress::MOST_COMPRESSED;
use crate::compress::{DecompressError, Decompressor};
use crate::error::Result;
use crate::io::source::{read_exact, zeroed};
use crate::offsets::{ByteRange, HostOffset, SECTOR, le32, le64};

/// How much of the file is read at once, in bytes.
const WINDOW: u64 = 64 << 10;
/// Length of a marker's fields, in bytes. A grain's marker has one field less: compressed data follows.
const MARKER: u64 = 16;
const GRAIN_MARKER: u64 = 12;
/// Length of an entry of a grain table, in bytes.
const ENTRY: u64 = 4;
/// The type of the marker before a grain table.
const TABLE: u32 = 1;

/// A grain that a marker names.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedGrain {
    /// Offset of the grain in the extent, in bytes.
    pub start: u64,
    /// The host offset of the marker.
    pub host: HostOffset,
    /// Length of the marker and of the compressed data, in bytes. The file may end earlier.
    pub host_len: u64,
}

/// A grain that counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundGrain {
    pub grain: MarkedGrain,
    /// Whether the range behind the grain before it is certain to be absent.
    pub hole_is_sure: bool,
}

/// The grain table that lies next in the stream.
#[derive(Default)]
struct NextTable {
    /// The host offset at which the search for it has ended. It is the next one for all grains before that.
    searched_to: u64,
    /// Its entries, in sectors; empty if none was found.
    entries: Vec<u32>,
    /// The same entries, ascending.
    sorted: Vec<u32>,
}

impl NextTable {
    fn new(searched_to: u64, entries: Vec<u32>) -> Self {
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        Self { searched_to, entries, sorted }
    }

    /// Whether it has the grain whose marker lies in `sector`, but not in its entry number `entry`.
    fn is_elsewhere(&self, entry: usize, sector: u64) -> bool {
        let Ok(sector) = u32::try_from(sector) else { return false };
        self.entries.get(entry).is_some_and(|&own| own != sector) && self.sorted.binary_search(&sector).is_ok()
    }
}

/// A pass over the markers, in ascending order.
pub(super) struct Stream {
    file: ExtentFile,
    sparse: Sparse,
    /// Where the next marker lies; `None` behind the last one that can be read.
    next: Option<u64>,
    /// The grain that the pass has reached, and its end in the extent (0 if there is none).
    current: Option<FoundGrain>,
    end: u64,
    /// The grain behind it, whose marker was read ahead.
    ahead: Option<MarkedGrain>,
    /// The table behind that grain.
    table: NextTable,
    window: Vec<u8>,
    window_start: u64,
    decompressor: Decompressor,
}

impl Stream {
    /// Reads the markers of the extent `sparse` in `file` from the host offset `first` on.
    pub fn new(sparse: &Sparse, file: ExtentFile, first: HostOffset) -> Self {
        Self {
            file,
            sparse: sparse.clone(),
            next: Some(first.0),
            current: None,
            end: 0,
            ahead: None,
            table: NextTable::default(),
            window: Vec::new(),
            window_start: 0,
            decompressor: Decompressor::default(),
        }
    }

    /// The first grain that ends behind `at`, an offset in the extent; `None` if no marker names one. `at` never descends.
    /// Fails with `source`, or with `internal` if memory runs out.
    pub async fn grain_behind(&mut self, at: u64) -> Result<Option<FoundGrain>> {
        while self.end <= at {
            if !self.advance().await? {
                return Ok(None);
            }
        }
        Ok(self.current)
    }

    /// Goes to the next grain. Returns `false` if none counts.
    async fn advance(&mut self) -> Result<bool> {
        let (end, before) = (self.end, self.current.map(|found| found.grain));
        let mut hole_is_sure = true;
        let (grain, is_in_table) = loop {
            let grain = match self.ahead.take() {
                Some(grain) => grain,
                None => match self.read_grain(end, None).await?.0 {
                    Some(grain) => grain,
                    None => return Ok(false),
                },
            };
            let grain_end = grain.start + self.sparse.grain;
            let (ahead, is_in_table) = self.read_grain(grain_end, Some(grain)).await?;
            self.ahead = ahead;
            let is_beside_hole = grain.start > end || ahead.is_none_or(|ahead| ahead.start > grain_end);
            if !is_beside_hole || !self.is_moved(grain).await? {
                break (grain, is_in_table);
            }
            hole_is_sure = false;
        };
        let has_hole = grain.start > end;
        if has_hole && self.ahead.is_none() && !is_in_table {
            self.next = None;
            return Ok(false);
        }
        if let Some(before) = before.filter(|_| has_hole) {
            hole_is_sure = hole_is_sure && self.is_as_long_as_told(before).await?;
        }
        self.current = Some(FoundGrain { grain, hole_is_sure });
        self.end = grain.start + self.sparse.grain;
        Ok(true)
    }

    /// Reads markers up to the next grain that begins at `end` of the extent or behind it. Returns that, and whether a
    /// table on the way has the grain `before`. `None`: there is none, or no such grain can follow.
    async fn read_grain(&mut self, end: u64, before: Option<MarkedGrain>) -> Result<(Option<MarkedGrain>, bool)> {
        let mut is_in_table = false;
        while let Some(place) = self.next.take() {
            if place.saturating_add(MARKER) > self.file.source.size() {
                break;
            }
            let marker = self.marker(place).await?;
            let (value, len, kind) = (le64(marker, 0), u64::from(le32(marker, 8)), le32(marker, 12));
            if len > 0 {
                let grain = self.grain(end, value, place, GRAIN_MARKER + len);
                self.next = grain.map(|grain| place + grain.host_len.next_multiple_of(SECTOR));
                // An entry tells a place within its table only: a grain may be moved by whole tables.
                return Ok((grain, is_in_table && grain.is_some()));
            }
            // The directory and the footer are behind all grains. A length that is damaged would skip grains.
            if kind != TABLE || value != (self.sparse.table_entries * ENTRY).div_ceil(SECTOR) {
                break;
            }
            if let Some(grain) = before {
                is_in_table |= self.has_grain(place + SECTOR, grain).await?;
            }
            self.next = place.checked_add((value + 1) * SECTOR);
        }
        Ok((None, is_in_table))
    }

    /// The grain at `sector` of the extent, whose marker lies at `place`. `None`: it cannot follow what ends at `end`.
    fn grain(&self, end: u64, sector: u64, place: u64, host_len: u64) -> Option<MarkedGrain> {
        let grain = self.sparse.grain;
        let start = sector.checked_mul(SECTOR).filter(|&start| start < self.sparse.capacity)?;
        let is_possible = start.is_multiple_of(grain) && start >= end && host_len <= MOST_COMPRESSED * grain;
        is_possible.then_some(MarkedGrain { start, host: HostOffset(place), host_len })
    }

    /// Whether the grain table at the host offset `table` has `grain` in its place.
    async fn has_grain(&mut self, table: u64, grain: MarkedGrain) -> Result<bool> {
        let place = table + grain.start / self.sparse.grain % self.sparse.table_entries * ENTRY;
        if place.saturating_add(ENTRY) > self.file.source.size() {
            return Ok(false);
        }
        let entry = self.read(place, ENTRY).await?;
        Ok(u64::from(le32(&entry, 0)) == grain.host.0 / SECTOR)
    }

    /// Whether the table behind `grain` has it in another place than its marker.
    async fn is_moved(&mut self, grain: MarkedGrain) -> Result<bool> {
        if grain.host.0 >= self.table.searched_to {
            self.table = self.find_table(grain.host.0).await?;
        }
        let entry = grain.start / self.sparse.grain % self.sparse.table_entries;
        Ok(self.table.is_elsewhere(entry as usize, grain.host.0 / SECTOR))
    }

    /// Looks for a table behind the grain whose marker lies at `first`, and behind no more grains than a table has.
    async fn find_table(&mut self, first: u64) -> Result<NextTable> {
        let size = self.file.source.size();
        let mut place = first;
        for _ in 0..=self.sparse.table_entries {
            if place.saturating_add(MARKER) > size {
                break;
            }
            let marker = self.marker(place).await?;
            let (value, len, kind) = (le64(marker, 0), u64::from(le32(marker, 8)), le32(marker, 12));
            if len > 0 {
                place = place.saturating_add((GRAIN_MARKER + len).next_multiple_of(SECTOR));
                continue;
            }
            let table = ByteRange { start: HostOffset(place + SECTOR), len: self.sparse.table_entries * ENTRY };
            if kind == TABLE && value == table.len.div_ceil(SECTOR) && table.start.0 + table.len <= size {
                let entries = self.read(table.start.0, table.len).await?;
                let entries = entries.chunks_exact(ENTRY as usize).map(|entry| le32(entry, 0)).collect();
                return Ok(NextTable::new(place, entries));
            }
            break;
        }
        // What was passed has no table, up to the last marker that was read.
        Ok(NextTable::new(place.max(first + 1), Vec::new()))
    }

    /// Whether the compressed data of `grain` ends in the sector in which it does by its marker.
    async fn is_as_long_as_told(&mut self, grain: MarkedGrain) -> Result<bool> {
        let len = grain.host_len.min(self.file.source.size() - grain.host.0);
        let input = self.read(grain.host.0, len).await?;
        let mut output = zeroed(self.sparse.grain as usize)?;
        let frame = self.sparse.frame(grain.start);
        match self.decompressor.decompress_grain(frame, &input, &mut output) {
            Ok(len) => Ok((len as u64).div_ceil(SECTOR) == grain.host_len.div_ceil(SECTOR)),
            Err(DecompressError::Failed(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// The `len` bytes at the host offset `start`. The file has them.
    async fn read(&self, start: u64, len: u64) -> Result<Vec<u8>> {
        let read = read_exact(&*self.file.source, ByteRange { start: HostOffset(start), len }, "marker").await;
        read.map_err(|error| self.file.error(error))
    }

    /// The fields of the marker at `place`. The file has them.
    async fn marker(&mut self, place: u64) -> Result<&[u8]> {
        let held = self.window_start..self.window_start + self.window.len() as u64;
        if !held.contains(&place) || !held.contains(&(place + MARKER - 1)) {
            let len = WINDOW.min(self.file.source.size() - place);
            (self.window, self.window_start) = (self.read(place, len).await?, place);
        }
        let at = (place - self.window_start) as usize;
        Ok(&self.window[at..at + MARKER as usize])
    }
}
