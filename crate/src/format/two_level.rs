//! Two-level tables: a directory refers to tables, and each table has an entry for each unit (a cluster or grain) of its
//! range of the disk or extent. Loaded in parts, each once: a window of the directory, and slices of tables as a pass
//! reaches them.

use super::listing::{BATCH, Listing};
use super::slices::{SlicePart, TableSlice, TableSlices, WantedSlice};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::{HostReport, TableReports};
use crate::error::damage::{Damage, farthest};
use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::offsets::{GuestRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
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

/// A directory whose tables describe units of the disk. Ranges are those of [`Self::listing`].
pub(crate) trait UnitDirectory: Directory {
    /// The damage of everything after the last entry of the directory that the file has.
    const DIRECTORY_TRUNCATED: Damage;
    /// The damage of a unit whose table begins after the end of the file; `None` if such a table is read like a truncated one.
    const TABLE_OUTSIDE: Option<Damage>;

    /// Lists units of the file with the tables.
    fn listing(&self) -> &Listing;

    /// The kind of a unit without an entry.
    fn absent(&self) -> ExtentKind {
        ExtentKind::Unallocated { host: None }
    }

    /// Appends `part` of the unit whose entry is at offset `entry` of `slice`.
    fn list_unit(&self, slice: &TableSlice, entry: usize, part: Range<u64>, batch: &mut Vec<Extent>) -> Result<()>;
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

    /// Returns the end of the consecutive directory entries from `index` that have no table: an offset of at most `end`, within the
    /// window.
    fn end_of_missing(&self, mut index: u64, end: u64) -> u64 {
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

    /// Returns the slice of the table's copy with the same entries, if the file has the copy.
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

impl<D: UnitDirectory> TwoLevel<D> {
    /// Appends extents from `range.start` on to `batch`: units of one slice, or directory entries without tables. Fails with
    /// `source` or `corrupt`, or with `internal` if memory runs out.
    pub(crate) async fn list_batch(&mut self, range: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        let span = self.shape.span();
        let index = range.start / span;
        self.directory.load(index).await?;
        let rest_of_table = GuestRange::from(range.start..((index + 1) * span).min(range.end));
        let (listing, place) = (self.directory.listing(), self.directory.place(index));
        match (self.directory.table(index), D::TABLE_OUTSIDE) {
            (Ok(None), _) => {
                let end = self.end_of_missing(index, range.end);
                listing.push(batch, GuestRange::from(range.start..end), self.directory.absent());
                Ok(())
            }
            (Ok(Some(table)), Some(damage)) if table.0 >= listing.file_size() => {
                listing.lose(batch, rest_of_table, damage, table)
            }
            (Ok(Some(_)), _) => self.list_slice(range, batch).await,
            (Err(damage), _) if damage == D::DIRECTORY_TRUNCATED => listing.lose(batch, range.into(), damage, place),
            (Err(damage), _) => listing.lose(batch, rest_of_table, damage, place),
        }
    }

    /// Appends extents from `range.start` on, from the slice there.
    async fn list_slice(&mut self, range: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        let slice = self.slice(range.clone()).await?;
        let (directory, full) = (&self.directory, batch.len() + BATCH);
        for (part, entry) in slice.parts(self.shape.unit, self.shape.entry_size, range) {
            if batch.len() >= full {
                break;
            }
            match entry {
                SlicePart::Empty => directory.listing().push(batch, part.into(), directory.absent()),
                SlicePart::Entry(entry) => directory.list_unit(&slice, entry, part, batch)?,
                SlicePart::Missing(place) => {
                    directory.listing().lose(batch, part.into(), D::TABLE_TRUNCATED, place)?;
                }
            }
        }
        Ok(())
    }
}

/// A walk of a disk that is mapped by one directory.
impl<D: UnitDirectory> ExtentWalk for TwoLevel<D> {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.list_batch(range.start.0..range.end.0, batch).boxed_local()
    }
}
