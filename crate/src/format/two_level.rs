//! Two-level tables: a directory refers to tables, and each table has an entry for each unit (a cluster or grain) of its
//! range of the disk or extent. Loaded in parts, each once: a window of the directory, and slices of tables as a pass
//! reaches them.

use super::slices::{TableSlice, TableSlices, WantedSlice};
use crate::disk::host_ranges::{HostReport, TableReports};
use crate::error::damage::{Damage, farthest};
use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::offsets::HostOffset;
use std::ops::Range;
use std::rc::Rc;

/// The layout of two-level tables. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Size of the range that all tables describe. The last table has entries only for its part of the range.
    pub(super) size: u64,
    /// Size of the range that an entry of a table describes.
    pub(super) unit: u64,
    /// Size of an entry of a table.
    pub(super) entry_size: u64,
    /// Number of entries of a table.
    pub(super) table_entries: u64,
}

impl Shape {
    /// Size of the range that a table describes.
    pub(crate) fn span(&self) -> u64 {
        self.unit * self.table_entries
    }

    /// The number of directory entries that `size` needs.
    pub(crate) fn directory_entries(&self) -> u64 {
        self.size.div_ceil(self.span())
    }

    /// The length of table `index` that `size` needs.
    pub(super) fn table_len(&self, index: u64) -> u64 {
        let span = (self.size - index * self.span()).min(self.span());
        span.div_ceil(self.unit) * self.entry_size
    }
}

/// A directory of tables, loaded in windows.
pub(crate) trait Directory {
    /// The damage of a table past the end of the file.
    const TABLE_TRUNCATED: Damage;

    /// Loads the window with entry `index`. Fails with `source`, or with `internal` if memory runs out.
    async fn load(&mut self, index: u64) -> Result<()>;

    /// The index after the last entry of the window.
    fn window_end(&self) -> u64;

    fn place(&self, index: u64) -> HostOffset;

    /// Returns the host offset of the table of entry `index`, which must be in the window; `None` if there is no table.
    fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage>;

    /// Returns the host offset of the copy of the table of entry `index`, if the file has both.
    fn copy(&self, _index: u64) -> Option<HostOffset> {
        None
    }

    /// Replaces the unusable entries of `entries`, a part of a table, by those of its copy. Returns whether the two differ.
    fn merge(&self, _entries: &mut [u8], _copy: &[u8]) -> bool {
        false
    }

    /// Adds the name of the file with the tables to `error`, if it needs one.
    fn error(&self, error: Error) -> Error {
        error
    }
}

/// Upper bounds on the slices in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceLimits {
    /// Number of entries of a slice.
    pub(super) entries: u64,
    pub(super) slices: u64,
}

/// A directory and its tables in a file.
pub(crate) struct TwoLevel<D> {
    pub(super) directory: D,
    pub(super) shape: Shape,
    source: Rc<dyn Source>,
    salvage: bool,
    limits: SliceLimits,
    slices: TableSlices,
    reports: TableReports,
}

impl<D: Directory> TwoLevel<D> {
    /// Creates the tables of `directory` in `source`, which `reports` gets when they are read. A salvage reads truncated
    /// tables. Nothing is read yet.
    pub(crate) fn new(
        directory: D,
        shape: Shape,
        source: Rc<dyn Source>,
        limits: SliceLimits,
        salvage: bool,
        reports: TableReports,
    ) -> Self {
        Self { directory, shape, source, salvage, limits, slices: TableSlices::default(), reports }
    }

    /// Returns the end of the run of directory entries without tables that starts with `index`: an offset of at most
    /// `end`, within the window.
    pub(crate) fn end_of_missing(&self, mut index: u64, end: u64) -> u64 {
        let span = self.shape.span();
        let last = end.div_ceil(span).min(self.directory.window_end());
        while index < last && self.directory.table(index) == Ok(None) {
            index += 1;
        }
        index.saturating_mul(span).min(end)
    }

    /// Returns the slice that describes `range.start`, whose table must exist. Later slices that `range` needs are read
    /// with it. Fails with `source` or `corrupt`, or with `internal` if memory runs out.
    pub(crate) async fn slice(&mut self, range: Range<u64>) -> Result<Rc<TableSlice>> {
        let start = range.start;
        if let Some(slice) = self.slices.at(start) {
            return Ok(slice);
        }
        let wanted = self.wanted(range)?;
        let copies: Vec<_> = wanted.iter().filter_map(|slice| self.copy_of(slice)).collect();
        wanted.iter().chain(&copies).for_each(|slice| self.report(slice));
        let read = self.slices.read(&self.source, wanted).await;
        read.map_err(|error| self.directory.error(error))?;
        if !copies.is_empty() {
            let mut read = TableSlices::default();
            read.read(&self.source, copies).await.map_err(|error| self.directory.error(error))?;
            let directory = &self.directory;
            if self.slices.merge(&read, |entries, copy| directory.merge(entries, copy)) {
                self.reports.reports.add(HostReport::CopiesDiffer);
            }
        }
        Ok(self.slices.at(start).expect("it was just read"))
    }

    /// The index of the table of `slice`, and the distance of the slice from the start of the table, in bytes.
    fn place_of(&self, slice: &WantedSlice) -> (u64, u64) {
        let index = slice.range.start / self.shape.span();
        (index, (slice.range.start - index * self.shape.span()) / self.shape.unit * self.shape.entry_size)
    }

    /// The same part of the copy of the table, if that is in the file.
    fn copy_of(&self, slice: &WantedSlice) -> Option<WantedSlice> {
        let (index, start) = self.place_of(slice);
        let table = self.directory.copy(index)?;
        Some(WantedSlice { range: slice.range.clone(), host: HostOffset(table.0 + start), len: slice.len })
    }

    fn report(&self, slice: &WantedSlice) {
        let WantedSlice { ref range, host, len } = *slice;
        let (index, start) = self.place_of(slice);
        let is_last = range.end >= ((index + 1) * self.shape.span()).min(self.shape.size);
        self.reports.add(host.0 - start, host, len, is_last, range.clone());
    }

    /// Returns the slices to read for `range`, at least one.
    fn wanted(&self, range: Range<u64>) -> Result<Vec<WantedSlice>> {
        let Shape { size, unit, entry_size, .. } = self.shape;
        let (span, slice_span) = (self.shape.span(), self.limits.entries * unit);
        let file_size = self.source.size();
        let mut wanted: Vec<WantedSlice> = Vec::new();
        let mut at = range.start;
        while at < range.end.min(size) && (wanted.len() as u64) < self.limits.slices {
            let index = at / span;
            if index >= self.directory.window_end() {
                break;
            }
            let table_start = index * span;
            let table_end = (table_start + span).min(size);
            let Ok(Some(table)) = self.directory.table(index) else {
                // No table, or damage, which is reported when the pass reaches it.
                at = table_end;
                continue;
            };
            if table.0.saturating_add(self.shape.table_len(index)) > file_size && !self.salvage {
                // A truncated later table fails when the pass reaches it.
                if wanted.is_empty() {
                    let damage = D::TABLE_TRUNCATED.at(table, farthest(size, file_size));
                    return Err(self.directory.error(damage.error(table, file_size)));
                }
                break;
            }
            let number = (at - table_start) / slice_span;
            let start = table_start + number * slice_span;
            let end = (start + slice_span).min(table_end);
            let host = HostOffset(table.0.saturating_add(number * self.limits.entries * entry_size));
            let len = (end - start).div_ceil(unit) * entry_size;
            let present = file_size.saturating_sub(host.0) / entry_size * entry_size;
            wanted.push(WantedSlice { range: start..end, host, len: len.min(present) });
            at = end;
        }
        Ok(wanted)
    }
}
