//! Loads the L1 and L2 tables of a disk in parts, each once: a window of the L1 table, and slices of L2 tables as the
//! pass reaches them.

use super::Qcow2;
use super::damage;
use super::header::ENTRY_SIZE;
use super::l2;
use crate::disk::damage::Damage;
use crate::error::Result;
use crate::format::entry_table::Table;
use crate::format::slices::{Slice, Slices, WantedSlice};
use crate::offsets::{GuestRange, HostOffset, be64};
use std::rc::Rc;

/// Upper bound on the part of the L1 table in memory, in bytes.
const L1_WINDOW: u64 = 256 << 10;
/// Minimum memory for slices, in bytes.
const MIN_SLICES: u64 = 512;

pub(super) struct Tables {
    disk: Rc<Qcow2>,
    salvage: bool,
    l1: Table,
    slices: Slices,
    /// Length of a slice, in bytes. A table is a whole number of slices.
    slice_len: u64,
    most_slices: u64,
}

impl Tables {
    /// Creates the tables of `disk`. They use about `memory` bytes.
    pub fn new(disk: Rc<Qcow2>, memory: u64, salvage: bool) -> Self {
        let l1_entries = disk.mapping.l1_entries_needed(&disk.header);
        let l1_memory = (memory / 4).min(L1_WINDOW);
        let slices_memory = (memory - memory / 4).max(MIN_SLICES);
        // Both are powers of two, so that a table is a whole number of slices.
        let slice_len = disk.header.cluster_size().min(1 << slices_memory.ilog2());
        Self {
            salvage,
            l1: Table::new(disk.source.clone(), disk.mapping.l1_offset, ENTRY_SIZE, l1_entries, l1_memory),
            slices: Slices::default(),
            slice_len,
            most_slices: (slices_memory / slice_len).max(1),
            disk,
        }
    }

    /// Loads the L1 window with entry `index`.
    pub async fn load_l1(&mut self, index: u64) -> Result<()> {
        self.l1.load(index).await
    }

    /// The index after the last L1 entry of the window.
    pub fn l1_end(&self) -> u64 {
        self.l1.end()
    }

    /// The host offset of L1 entry `index`.
    pub fn l1_place(&self, index: u64) -> HostOffset {
        self.l1.place(index)
    }

    /// Returns the host offset of the L2 table of L1 entry `index`, which must be in the window; `None` if there is no
    /// table.
    pub fn l2_table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = self.l1.entries(index, index + 1);
        if entry.is_empty() {
            return Err(damage::L1_TRUNCATED);
        }
        l2::l2_table(&self.disk.header, be64(entry, 0))
    }

    /// Returns the slice that describes `range.start`, whose L2 table must exist. Later slices that `range` needs are
    /// read with it.
    pub async fn slice(&mut self, range: GuestRange) -> Result<Rc<Slice>> {
        if let Some(slice) = self.slices.at(range.start) {
            return Ok(slice);
        }
        let wanted = self.wanted(range)?;
        self.slices.read(&self.disk.source, wanted).await?;
        Ok(self.slices.at(range.start).expect("it was just read"))
    }

    /// The range described by a slice, in bytes.
    fn slice_span(&self) -> u64 {
        self.slice_len / self.disk.header.l2_entry_size() * self.disk.header.cluster_size()
    }

    /// Returns the slices to read for `range`, at least one.
    fn wanted(&self, range: GuestRange) -> Result<Vec<WantedSlice>> {
        let (span, table_size) = (self.slice_span(), self.disk.header.cluster_size());
        let per_table = table_size / self.slice_len;
        let file_size = self.disk.source.size();
        let mut wanted: Vec<WantedSlice> = Vec::new();
        let mut number = range.start / span;
        while number * span < range.end && (wanted.len() as u64) < self.most_slices {
            let index = number / per_table;
            if index >= self.l1.end() {
                break;
            }
            let Ok(Some(table)) = self.l2_table(index) else {
                // No table, or damage, which is reported when the pass reaches it.
                number = (index + 1) * per_table;
                continue;
            };
            if table.0 + table_size > file_size && !self.salvage {
                // A truncated later table fails when the pass reaches it.
                if wanted.is_empty() {
                    return Err(damage::L2_TRUNCATED.error(table, file_size));
                }
                break;
            }
            let host = HostOffset(table.0 + number % per_table * self.slice_len);
            let len = self.slice_len.min(file_size.saturating_sub(host.0));
            let range = GuestRange { start: number * span, end: (number + 1) * span };
            wanted.push(WantedSlice { range, host, len });
            number += 1;
        }
        Ok(wanted)
    }
}
