//! Finds the grains of a stream-optimized extent by their markers (Virtual Disk Format 5.0, "Stream-Optimized
//! Compressed Sparse Extents"). Used in a salvage if the footer is missing, and with it the position of the grain
//! directory.
//!
//! A stream has its grains in guest order, each once. Reading stops where that is violated. Since a marker may itself
//! be damaged, a grain after a hole is accepted only if the following data confirms its position, and a hole only if
//! the marker after it is at the end of the grain before it. A grain that was moved within the adjacent hole passes
//! both checks; it is rejected if its grain table has it elsewhere. Most writers put a table after the grains that it
//! lists; if that table is missing, such a grain is not detected.

use super::sparse_header::SparseHeader;
use super::structures::{ENTRY, GRAIN_TABLE, Marker};
use crate::compress::{DecompressError, Decompressor, GrainMarker, MOST_COMPRESSED};
use crate::error::Result;
use crate::format::listing::Listing;
use crate::io::source::{read_exact, zeroed};
use crate::offsets::{ByteRange, HostOffset, SECTOR, le32};

/// Length of a read of the file, in bytes.
const WINDOW: u64 = 64 << 10;
/// Length of a marker's fields, in bytes. A grain's marker has one field less, followed by compressed data.
const MARKER: u64 = Marker::LEN as u64;
const GRAIN_MARKER: u64 = GrainMarker::LEN as u64;

/// A grain described by a marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedGrain {
    /// Offset of the grain in the extent, in bytes.
    pub(super) start: u64,
    /// The host offset of the marker.
    pub(super) host: HostOffset,
    /// Length of the marker and the compressed data, in bytes. The file may end earlier.
    pub(super) host_len: u64,
}

/// A grain whose position is confirmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundGrain {
    pub(super) grain: MarkedGrain,
    /// Whether the range between the previous grain and this one is certain to be absent.
    pub(super) hole_is_sure: bool,
}

/// The next grain table in the stream.
#[derive(Default)]
struct NextTable {
    /// The host offset where the search for the table ended. For every grain before it, this is the next table.
    searched_to: u64,
    /// Its entries, in sectors; empty if no table was found.
    entries: Vec<u32>,
    sorted: Vec<u32>,
}

impl NextTable {
    fn new(searched_to: u64, entries: Vec<u32>) -> Self {
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        Self { searched_to, entries, sorted }
    }

    /// Whether it has the grain whose marker is in `sector`, but in an entry other than `entry`.
    fn is_elsewhere(&self, entry: usize, sector: u64) -> bool {
        let Ok(sector) = u32::try_from(sector) else { return false };
        self.entries.get(entry).is_some_and(|&own| own != sector) && self.sorted.binary_search(&sector).is_ok()
    }
}

/// A pass over the markers, in ascending order.
pub(super) struct MarkerScan {
    listing: Listing,
    sparse: SparseHeader,
    /// The host offset of the next marker; `None` after the last readable one.
    next: Option<u64>,
    /// The current grain, and its end in the extent in bytes (0 if there is none).
    current: Option<FoundGrain>,
    end: u64,
    /// The grain after it, whose marker was read ahead.
    ahead: Option<MarkedGrain>,
    /// The next table. See [`NextTable`].
    table: NextTable,
    window: Vec<u8>,
    window_start: u64,
    decompressor: Decompressor,
}

impl MarkerScan {
    /// Starts a pass over the markers of the extent `sparse` in the file of `listing`, at host offset `first`.
    pub(super) fn new(sparse: &SparseHeader, listing: Listing, first: HostOffset) -> Self {
        Self {
            listing,
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

    /// Returns the first grain that ends after `at`, an offset in the extent; `None` if no marker describes one. `at`
    /// must never decrease. Fails with `source`, or with `internal` if memory runs out.
    pub(super) async fn grain_after(&mut self, at: u64) -> Result<Option<FoundGrain>> {
        while self.end <= at {
            if !self.advance().await? {
                return Ok(None);
            }
        }
        Ok(self.current)
    }

    /// Moves to the next grain with a confirmed position. Returns false if there is none.
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
            hole_is_sure = hole_is_sure && self.is_as_long_as_stated(before).await?;
        }
        self.current = Some(FoundGrain { grain, hole_is_sure });
        self.end = grain.start + self.sparse.grain;
        Ok(true)
    }

    /// Reads markers up to the next grain that begins at or after `end` in the extent. Returns the grain, and whether a
    /// table before it lists the grain `before`. The grain is `None` if there is none, or if the next marker's grain
    /// cannot follow.
    async fn read_grain(&mut self, end: u64, before: Option<MarkedGrain>) -> Result<(Option<MarkedGrain>, bool)> {
        let mut is_in_table = false;
        while let Some(place) = self.next.take() {
            if place.saturating_add(MARKER) > self.listing.file_size() {
                break;
            }
            let Marker { val: value, size: len, marker_type: kind } = self.marker(place).await?;
            let len = u64::from(len);
            if len > 0 {
                let grain = self.grain(end, value, place, GRAIN_MARKER + len);
                self.next = grain.map(|grain| place + grain.host_len.next_multiple_of(SECTOR));
                // An entry gives only the position within its table, so the grain may be off by whole tables.
                return Ok((grain, is_in_table && grain.is_some()));
            }
            // The directory and footer come after all grains. A damaged length would skip grains.
            if kind != GRAIN_TABLE || value != (self.sparse.table_entries * ENTRY).div_ceil(SECTOR) {
                break;
            }
            if let Some(grain) = before {
                is_in_table |= self.has_grain(place + SECTOR, grain).await?;
            }
            self.next = place.checked_add((value + 1) * SECTOR);
        }
        Ok((None, is_in_table))
    }

    /// Validates the grain at `sector` of the extent with a marker at `place`. Returns `None` if it cannot follow a
    /// grain that ends at `end`.
    fn grain(&self, end: u64, sector: u64, place: u64, host_len: u64) -> Option<MarkedGrain> {
        let grain = self.sparse.grain;
        let start = sector.checked_mul(SECTOR).filter(|&start| start < self.sparse.capacity)?;
        let is_possible = start.is_multiple_of(grain) && start >= end && host_len <= MOST_COMPRESSED * grain;
        is_possible.then_some(MarkedGrain { start, host: HostOffset(place), host_len })
    }

    /// Whether the grain table at host offset `table` lists `grain` in its entry.
    async fn has_grain(&mut self, table: u64, grain: MarkedGrain) -> Result<bool> {
        let place = table + grain.start / self.sparse.grain % self.sparse.table_entries * ENTRY;
        if place.saturating_add(ENTRY) > self.listing.file_size() {
            return Ok(false);
        }
        let entry = self.read(place, ENTRY).await?;
        Ok(u64::from(le32(&entry, 0)) == grain.host.0 / SECTOR)
    }

    /// Whether the table after `grain` lists it in another entry than its marker states.
    async fn is_moved(&mut self, grain: MarkedGrain) -> Result<bool> {
        if grain.host.0 >= self.table.searched_to {
            self.table = self.find_table(grain.host.0).await?;
        }
        let entry = grain.start / self.sparse.grain % self.sparse.table_entries;
        Ok(self.table.is_elsewhere(entry as usize, grain.host.0 / SECTOR))
    }

    /// Finds the table after the grain whose marker is at `first`, skipping at most as many grains as a table has.
    async fn find_table(&mut self, first: u64) -> Result<NextTable> {
        let size = self.listing.file_size();
        let mut place = first;
        for _ in 0..=self.sparse.table_entries {
            if place.saturating_add(MARKER) > size {
                break;
            }
            let Marker { val: value, size: len, marker_type: kind } = self.marker(place).await?;
            let len = u64::from(len);
            if len > 0 {
                place = place.saturating_add((GRAIN_MARKER + len).next_multiple_of(SECTOR));
                continue;
            }
            let table = ByteRange { start: HostOffset(place + SECTOR), len: self.sparse.table_entries * ENTRY };
            if kind == GRAIN_TABLE && value == table.len.div_ceil(SECTOR) && table.start.0 + table.len <= size {
                let entries = self.read(table.start.0, table.len).await?;
                let entries = entries.chunks_exact(ENTRY as usize).map(|entry| le32(entry, 0)).collect();
                return Ok(NextTable::new(place, entries));
            }
            break;
        }
        // The skipped markers, up to the last one read, have no table.
        Ok(NextTable::new(place.max(first + 1), Vec::new()))
    }

    /// Whether the compressed data of `grain` ends in the sector that its marker states.
    async fn is_as_long_as_stated(&mut self, grain: MarkedGrain) -> Result<bool> {
        let len = grain.host_len.min(self.listing.file_size() - grain.host.0);
        let input = self.read(grain.host.0, len).await?;
        let mut output = zeroed(self.sparse.grain as usize)?;
        let frame = self.sparse.frame(grain.start);
        match self.decompressor.decompress_grain(frame, &input, &mut output) {
            Ok(len) => Ok((len as u64).div_ceil(SECTOR) == grain.host_len.div_ceil(SECTOR)),
            Err(DecompressError::Failed(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Reads `len` bytes at host offset `start`, which must be within the file.
    async fn read(&self, start: u64, len: u64) -> Result<Vec<u8>> {
        let read = read_exact(&**self.listing.source(), ByteRange { start: HostOffset(start), len }, "marker").await;
        read.map_err(|error| self.listing.error(error))
    }

    /// Reads the marker at `place`, which must be within the file.
    async fn marker(&mut self, place: u64) -> Result<Marker> {
        let held = self.window_start..self.window_start + self.window.len() as u64;
        if !held.contains(&place) || !held.contains(&(place + MARKER - 1)) {
            let len = WINDOW.min(self.listing.file_size() - place);
            (self.window, self.window_start) = (self.read(place, len).await?, place);
        }
        let at = (place - self.window_start) as usize;
        Ok(Marker::parse(&self.window[at..]))
    }
}
