//! Loads the grain directories and grain tables of an extent in parts, each once: windows of the directory and the
//! redundant directory, and slices of tables as the pass reaches them.

use super::damage;
use super::sparse::{ExtentFile, Sparse};
use crate::disk::damage::Damage;
use crate::error::Result;
use crate::format::entry_table::Table;
use crate::format::slices::{OVERHEAD, Slice, Slices, WantedSlice};
use crate::offsets::{GuestRange, HostOffset};
use std::rc::Rc;

/// Upper bound on the part of a directory in memory, in bytes.
const DIRECTORY_WINDOW: u64 = 128 << 10;
/// Upper bound on a slice, in bytes.
const SLICE: u64 = 64 << 10;

pub(super) struct Tables {
    sparse: Sparse,
    file: ExtentFile,
    salvage: bool,
    directory: Table,
    redundant: Option<Table>,
    slices: Slices,
    /// Entries of a slice.
    slice_entries: u64,
    most_slices: u64,
}

impl Tables {
    /// Creates the tables of the extent `sparse` in `file`. They use about `memory` bytes.
    pub fn new(sparse: Sparse, file: ExtentFile, memory: u64, salvage: bool) -> Self {
        let entry_size = sparse.entry_size();
        let slices_memory = (memory - memory / 4).max(entry_size);
        let slice_entries = (slices_memory.min(SLICE) / entry_size).min(sparse.table_entries);
        let directory = |start| {
            let memory = (memory / 8).min(DIRECTORY_WINDOW);
            Table::new(file.source.clone(), start, entry_size, sparse.directory_entries(), memory)
        };
        Self {
            salvage,
            directory: directory(sparse.directory),
            redundant: sparse.redundant.map(directory),
            slices: Slices::default(),
            slice_entries,
            most_slices: (slices_memory / (slice_entries * entry_size + OVERHEAD)).max(1),
            file,
            sparse,
        }
    }

    pub fn sparse(&self) -> &Sparse {
        &self.sparse
    }

    /// Loads the directory windows with entry `index`.
    pub async fn load_directory(&mut self, index: u64) -> Result<()> {
        let file = &self.file;
        self.directory.load(index).await.map_err(|error| file.error(error))?;
        if let Some(redundant) = &mut self.redundant {
            redundant.load(index).await.map_err(|error| file.error(error))?;
        }
        Ok(())
    }

    /// The index after the last entry in all windows.
    pub fn window_end(&self) -> u64 {
        let end = self.directory.end();
        self.redundant.as_ref().map_or(end, |redundant| end.min(redundant.end()))
    }

    /// The host offset of directory entry `index`.
    pub fn place(&self, index: u64) -> HostOffset {
        self.directory.place(index)
    }

    /// Returns the host offset of the table of directory entry `index`, which must be in the windows; `None` if there
    /// is no table. If the file has no complete table there, uses the redundant directory's if it is complete.
    pub fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = |directory: &Table| {
            let bytes = directory.entries(index, index + 1);
            (!bytes.is_empty()).then(|| self.sparse.table(self.sparse.entry(bytes)))
        };
        let is_whole =
            |table: HostOffset| table.0.saturating_add(self.sparse.table_len(index)) <= self.file.source.size();
        match (entry(&self.directory), self.redundant.as_ref().and_then(entry)) {
            (Some(Ok(Some(table))), _) if is_whole(table) => Ok(Some(table)),
            (_, Some(Ok(Some(table)))) if is_whole(table) => Ok(Some(table)),
            (Some(first), _) | (None, Some(first)) => first,
            (None, None) => Err(damage::DIRECTORY_TRUNCATED),
        }
    }

    /// Returns the slice that describes `range.start`, whose table must exist. Later slices that `range` needs are read
    /// with it.
    pub async fn slice(&mut self, range: GuestRange) -> Result<Rc<Slice>> {
        if let Some(slice) = self.slices.at(range.start) {
            return Ok(slice);
        }
        let wanted = self.wanted(range)?;
        let read = self.slices.read(&self.file.source, wanted).await;
        read.map_err(|error| self.file.error(error))?;
        Ok(self.slices.at(range.start).expect("it was just read"))
    }

    /// Returns the slices to read for `range`, at least one.
    fn wanted(&self, range: GuestRange) -> Result<Vec<WantedSlice>> {
        let sparse = &self.sparse;
        let file_size = self.file.source.size();
        let slice_span = self.slice_entries * sparse.grain;
        let mut wanted: Vec<WantedSlice> = Vec::new();
        let mut at = range.start;
        while at < range.end.min(sparse.capacity) && (wanted.len() as u64) < self.most_slices {
            let index = at / sparse.table_span();
            if index >= self.window_end() {
                break;
            }
            let table_start = index * sparse.table_span();
            let table_end = (table_start + sparse.table_span()).min(sparse.capacity);
            let Ok(Some(table)) = self.table(index) else {
                // No table, or damage, which is reported when the pass reaches it.
                at = table_end;
                continue;
            };
            if table.0.saturating_add(sparse.table_len(index)) > file_size && !self.salvage {
                // A truncated later table fails when the pass reaches it.
                if wanted.is_empty() {
                    return Err(self.file.error(damage::TABLE_TRUNCATED.error(table, file_size)));
                }
                break;
            }
            let number = (at - table_start) / slice_span;
            let start = table_start + number * slice_span;
            let end = (start + slice_span).min(table_end);
            let host = HostOffset(table.0.saturating_add(number * self.slice_entries * sparse.entry_size()));
            let len = (end - start).div_ceil(sparse.grain) * sparse.entry_size();
            let present = file_size.saturating_sub(host.0) / sparse.entry_size() * sparse.entry_size();
            wanted.push(WantedSlice { range: GuestRange { start, end }, host, len: len.min(present) });
            at = end;
        }
        Ok(wanted)
    }
}
