//! The L1 table of a disk, and its L2 tables.

use super::l2;
use super::structures::ENTRY;
use super::{L1_TRUNCATED, L2_TRUNCATED, Qcow2};
use crate::disk::host_ranges::TableReports;
use crate::error::Result;
use crate::error::damage::Damage;
use crate::format::WalkSetup;
use crate::format::entry_table::EntryTable;
use crate::format::two_level::{Directory, Shape, SliceLimits, TwoLevel};
use crate::offsets::{GuestOffset, HostOffset, be64};
use std::rc::Rc;

/// Upper bound on the part of the L1 table in memory, in bytes.
const L1_WINDOW: u64 = 256 << 10;
/// Minimum memory for slices, in bytes.
const MIN_SLICES: u64 = 512;

pub(super) struct L1 {
    disk: Rc<Qcow2>,
    table: EntryTable,
}

/// Creates the tables of `disk`, which are reported.
pub(super) fn tables(disk: Rc<Qcow2>, setup: &WalkSetup) -> TwoLevel<L1> {
    let WalkSetup { memory, salvage, file, ref reports, .. } = *setup;
    let header = &disk.header;
    let l1_entries = disk.mapping.l1_entries_needed(header);
    let l1_memory = (memory / 4).min(L1_WINDOW);
    let slices_memory = (memory - memory / 4).max(MIN_SLICES);
    // Both are powers of two, so that a table is a whole number of slices.
    let slice_len = header.cluster_size().min(1 << slices_memory.ilog2());
    let shape = Shape {
        // The last table is a whole cluster, too.
        size: l1_entries * header.l2_span(),
        unit: header.cluster_size(),
        entry_size: header.l2_entry_size(),
        table_entries: header.l2_entries(),
    };
    let limits =
        SliceLimits { entries: slice_len / header.l2_entry_size(), slices: (slices_memory / slice_len).max(1) };
    let source = disk.source.clone();
    let table = EntryTable::new(source.clone(), disk.mapping.l1_offset, ENTRY, l1_entries, l1_memory);
    let reports = TableReports {
        reports: reports.clone(),
        file,
        base: GuestOffset(0),
        len: header.cluster_size(),
        before_unit: None,
    };
    TwoLevel::new(L1 { disk, table }, shape, source, limits, salvage, reports)
}

impl Directory for L1 {
    const TABLE_TRUNCATED: Damage = L2_TRUNCATED;

    async fn load(&mut self, index: u64) -> Result<()> {
        self.table.load(index).await
    }

    fn window_end(&self) -> u64 {
        self.table.end()
    }

    fn place(&self, index: u64) -> HostOffset {
        self.table.place(index)
    }

    fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = self.table.entries(index, index + 1);
        if entry.is_empty() {
            return Err(L1_TRUNCATED);
        }
        l2::l2_table(&self.disk.header, be64(entry, 0))
    }
}
