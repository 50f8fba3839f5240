//! The grain directory of an extent, the redundant directory if there is one, and the grain tables.

use super::entries::Grain;
use super::sparse_header::SparseHeader;
use super::{DIRECTORY_TRUNCATED, TABLE_TRUNCATED};
use crate::disk::host_ranges::{HostReport, HostReports, TableReports, UnitLayout};
use crate::error::damage::Damage;
use crate::error::{Error, Result};
use crate::format::WalkSetup;
use crate::format::entry_table::EntryTable;
use crate::format::listing::Listing;
use crate::format::slices::OVERHEAD;
use crate::format::two_level::{Directory, SliceLimits, TwoLevel};
use crate::offsets::{HostOffset, SECTOR};

/// Upper bound on the part of a directory in memory, in bytes.
const DIRECTORY_WINDOW: u64 = 128 << 10;
/// Upper bound on a slice, in bytes.
const SLICE: u64 = 64 << 10;

pub(super) struct GrainDirectory {
    pub(super) sparse: SparseHeader,
    pub(super) listing: Listing,
    directory: EntryTable,
    redundant: Option<EntryTable>,
    /// The directories were compared up to this index.
    compared: u64,
    reports: HostReports,
}

/// The tables of a directory entry. Both are in the file.
struct TablePair {
    first: HostOffset,
    copy: HostOffset,
}

/// Creates the tables of the extent `sparse`, whose units `listing` lists.
pub(super) fn tables(sparse: SparseHeader, setup: &WalkSetup, listing: Listing) -> TwoLevel<GrainDirectory> {
    let WalkSetup { memory, salvage, ref reports, .. } = *setup;
    let (id, base, source) = (listing.file(), listing.base(), listing.source().clone());
    let shape = sparse.shape();
    let layout = UnitLayout { base, ..UnitLayout::new(id, sparse.grain) };
    reports.add(HostReport::Units(layout));
    for structure in [HostOffset(0), sparse.place] {
        reports.structure(id, structure, SECTOR);
    }
    for directory in [Some(sparse.directory), sparse.redundant].into_iter().flatten() {
        reports.structure(id, directory, shape.directory_entries() * shape.entry_size);
    }
    let reports = TableReports { base, ..TableReports::new(reports, id, shape.table_entries * shape.entry_size) };
    let slices_memory = (memory - memory / 4).max(shape.entry_size);
    let entries = (slices_memory.min(SLICE) / shape.entry_size).min(shape.table_entries);
    // A slice and its copy are in memory at once.
    let copies = 1 + u64::from(sparse.redundant.is_some());
    let slices = slices_memory / copies / (entries * shape.entry_size + OVERHEAD);
    let limits = SliceLimits { entries, slices: slices.max(1) };
    let table = |start| {
        let memory = (memory / 8).min(DIRECTORY_WINDOW);
        EntryTable::new(source.clone(), start, shape.entry_size, shape.directory_entries(), memory)
    };
    let (directory, redundant) = (table(sparse.directory), sparse.redundant.map(table));
    let directory =
        GrainDirectory { sparse, listing, directory, redundant, compared: 0, reports: reports.reports.clone() };
    TwoLevel::new(directory, shape, source, limits, salvage, reports)
}

impl Directory for GrainDirectory {
    const TABLE_TRUNCATED: Damage = TABLE_TRUNCATED;

    async fn load(&mut self, index: u64) -> Result<()> {
        let listing = &self.listing;
        self.directory.load(index).await.map_err(|error| listing.error(error))?;
        if let Some(redundant) = &mut self.redundant {
            redundant.load(index).await.map_err(|error| listing.error(error))?;
        }
        self.compare(index);
        Ok(())
    }

    fn window_end(&self) -> u64 {
        let end = self.directory.end();
        self.redundant.as_ref().map_or(end, |redundant| end.min(redundant.end()))
    }

    fn place(&self, index: u64) -> HostOffset {
        self.directory.place(index)
    }

    /// Returns the redundant table if only that one is complete in the file.
    fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        match self.entries(index) {
            (Some(Ok(Some(table))), _) if self.is_whole(index, table) => Ok(Some(table)),
            (_, Some(Ok(Some(table)))) if self.is_whole(index, table) => Ok(Some(table)),
            (Some(first), _) | (None, Some(first)) => first,
            (None, None) => Err(DIRECTORY_TRUNCATED),
        }
    }

    fn copy(&self, index: u64) -> Option<HostOffset> {
        self.pair(index).filter(|pair| pair.first != pair.copy).map(|pair| pair.copy)
    }

    fn merge(&self, entries: &mut [u8], copy: &[u8]) -> bool {
        let size = self.sparse.layout.entry_size() as usize;
        let mut differ = false;
        for (entry, copy) in entries.chunks_exact_mut(size).zip(copy.chunks_exact(size)) {
            if entry == copy {
                continue;
            }
            differ = true;
            if !self.is_usable(entry) && self.is_usable(copy) {
                entry.copy_from_slice(copy);
            }
        }
        differ
    }

    fn error(&self, error: Error) -> Error {
        self.listing.error(error)
    }
}

type TableEntry = std::result::Result<Option<HostOffset>, Damage>;

impl GrainDirectory {
    /// The tables of entry `index` in both directories; `None` if the file ends before the entry.
    fn entries(&self, index: u64) -> (Option<TableEntry>, Option<TableEntry>) {
        let entry = |directory: &EntryTable| {
            let bytes = directory.entries(index, index + 1);
            (!bytes.is_empty()).then(|| self.sparse.layout.table(self.sparse.layout.entry(bytes)))
        };
        (entry(&self.directory), self.redundant.as_ref().and_then(entry))
    }

    /// Whether the file has all of `table`, the one of entry `index`.
    fn is_whole(&self, index: u64, table: HostOffset) -> bool {
        table.0.saturating_add(self.sparse.shape().table_len(index)) <= self.listing.file_size()
    }

    /// Both tables of entry `index`, if both are whole.
    fn pair(&self, index: u64) -> Option<TablePair> {
        match self.entries(index) {
            (Some(Ok(Some(first))), Some(Ok(Some(copy)))) => {
                (self.is_whole(index, first) && self.is_whole(index, copy)).then_some(TablePair { first, copy })
            }
            _ => None,
        }
    }

    /// Compares the directories from `index` to the end of the window, and reports if one has a table that the other has
    /// not.
    fn compare(&mut self, index: u64) {
        if self.redundant.is_none() {
            return;
        }
        let differs = |index| match self.entries(index) {
            (Some(Ok(None)), Some(Ok(None))) | (None, None) => false,
            _ => self.pair(index).is_none(),
        };
        let end = self.window_end();
        if (index.max(self.compared)..end).any(differs) {
            self.reports.add(HostReport::CopiesDiffer);
        }
        self.compared = end;
    }

    /// Whether the table entry at the start of `bytes` describes a grain that can be read.
    fn is_usable(&self, bytes: &[u8]) -> bool {
        match self.sparse.layout.grain(self.sparse.layout.entry(bytes)) {
            Ok(Grain::At(host)) => {
                let len = if self.sparse.compressed.is_some() { 1 } else { self.sparse.grain };
                host.0.saturating_add(len) <= self.listing.file_size()
            }
            Ok(Grain::Zero) => true,
            Ok(Grain::Absent) | Err(_) => false,
        }
    }
}
