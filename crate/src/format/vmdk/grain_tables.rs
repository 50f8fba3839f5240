//! The grain directory of an extent, the redundant directory if there is one, and the grain tables.

use super::sparse_header::{ExtentFile, SparseHeader};
use super::{DIRECTORY_TRUNCATED, TABLE_TRUNCATED};
use crate::error::damage::Damage;
use crate::error::{Error, Result};
use crate::format::entry_table::EntryTable;
use crate::format::slices::OVERHEAD;
use crate::format::two_level::{Directory, SliceLimits, TwoLevel};
use crate::offsets::HostOffset;

/// Upper bound on the part of a directory in memory, in bytes.
const DIRECTORY_WINDOW: u64 = 128 << 10;
/// Upper bound on a slice, in bytes.
const SLICE: u64 = 64 << 10;

pub(super) struct GrainDirectory {
    pub(super) sparse: SparseHeader,
    file: ExtentFile,
    directory: EntryTable,
    redundant: Option<EntryTable>,
}

/// Creates the tables of the extent `sparse` in `file`. They use about `memory` bytes.
pub(super) fn tables(sparse: SparseHeader, file: ExtentFile, memory: u64, salvage: bool) -> TwoLevel<GrainDirectory> {
    let shape = sparse.shape();
    let slices_memory = (memory - memory / 4).max(shape.entry_size);
    let entries = (slices_memory.min(SLICE) / shape.entry_size).min(shape.table_entries);
    let limits = SliceLimits { entries, slices: (slices_memory / (entries * shape.entry_size + OVERHEAD)).max(1) };
    let table = |start| {
        let memory = (memory / 8).min(DIRECTORY_WINDOW);
        EntryTable::new(file.source.clone(), start, shape.entry_size, shape.directory_entries(), memory)
    };
    let (directory, redundant) = (table(sparse.directory), sparse.redundant.map(table));
    let source = file.source.clone();
    TwoLevel::new(GrainDirectory { sparse, file, directory, redundant }, shape, source, limits, salvage)
}

impl Directory for GrainDirectory {
    const TABLE_TRUNCATED: Damage = TABLE_TRUNCATED;

    async fn load(&mut self, index: u64) -> Result<()> {
        let file = &self.file;
        self.directory.load(index).await.map_err(|error| file.error(error))?;
        if let Some(redundant) = &mut self.redundant {
            redundant.load(index).await.map_err(|error| file.error(error))?;
        }
        Ok(())
    }

    fn window_end(&self) -> u64 {
        let end = self.directory.end();
        self.redundant.as_ref().map_or(end, |redundant| end.min(redundant.end()))
    }

    fn place(&self, index: u64) -> HostOffset {
        self.directory.place(index)
    }

    /// If the file has no complete table, returns the redundant directory's if that is complete.
    fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = |directory: &EntryTable| {
            let bytes = directory.entries(index, index + 1);
            (!bytes.is_empty()).then(|| self.sparse.table(self.sparse.entry(bytes)))
        };
        let len = self.sparse.shape().table_len(index);
        let is_whole = |table: HostOffset| table.0.saturating_add(len) <= self.file.source.size();
        match (entry(&self.directory), self.redundant.as_ref().and_then(entry)) {
            (Some(Ok(Some(table))), _) if is_whole(table) => Ok(Some(table)),
            (_, Some(Ok(Some(table)))) if is_whole(table) => Ok(Some(table)),
            (Some(first), _) | (None, Some(first)) => first,
            (None, None) => Err(DIRECTORY_TRUNCATED),
        }
    }

    fn error(&self, error: Error) -> Error {
        self.file.error(error)
    }
}
