//! The L1 tables: of the active disk, and of internal snapshots.

use super::super::structures::{COPIED as COPIED_FLAG, ENTRY, ENTRY_OFFSET, L1_RESERVED, MAX_L1};
use super::{COPIED, Check, WINDOW, present, too_much};
use crate::error::{Error, ErrorKind, Result};
use crate::format::entry_table::EntryTable;
use crate::offsets::{HostOffset, be64};
use std::collections::BTreeMap;

/// Maximum number of L2 tables: as many as the largest L1 table has entries, twice.
const MOST_TABLES: usize = 1 << 23;

/// How often L1 tables refer to an L2 table.
#[derive(Clone, Copy, Default)]
pub(super) struct TableUse {
    /// From the L1 table of the active disk.
    pub(super) active: u64,
    /// Those from the L1 table of the active disk whose flag "copied" counts: QEMU compares it in no table at offset 0, or of unknown refcount.
    pub(super) copied: u64,
    pub(super) all: u64,
}

/// The L2 tables that begin in the file, by their offsets.
pub(super) type L2Tables = BTreeMap<u64, TableUse>;

/// Where an L1 table is.
struct L1Place {
    start: HostOffset,
    entries: u64,
    is_active: bool,
}

impl Check {
    /// Counts the L1 tables and the references in them. Returns the L2 tables. Fails with `limit`, and as reading does.
    pub(super) async fn count_l1_tables(&mut self) -> Result<L2Tables> {
        let disk = self.disk.clone();
        let header = &disk.header;
        let mut tables = L2Tables::new();
        let start = HostOffset(header.l1_table_offset);
        let mut left = disk.source.size();
        self.count_l1(L1Place { start, entries: header.l1_size.into(), is_active: true }, &mut left, &mut tables)
            .await?;
        if header.has_data_file() && !disk.snapshots.is_empty() {
            let place = HostOffset(header.snapshots_offset);
            self.refuse(1, place, "An image with a data file has internal snapshots,");
        }
        for entry in &disk.snapshots {
            let (start, entries) = (entry.l1_offset, u64::from(entry.l1_entries));
            if !header.is_aligned(start.0) {
                self.refuse(
                    1,
                    entry.at,
                    "The L1 table of a snapshot is not aligned to a cluster, according to the entry",
                );
            } else if entries * ENTRY > MAX_L1 {
                self.refuse(1, entry.at, "The L1 table of a snapshot is too large, according to the entry");
            } else {
                self.count_l1(L1Place { start, entries, is_active: false }, &mut left, &mut tables).await?;
            }
        }
        Ok(tables)
    }

    /// Counts one L1 table and its references. `left` is the number of bytes that L1 tables may still have.
    async fn count_l1(&mut self, place: L1Place, left: &mut u64, tables: &mut L2Tables) -> Result<()> {
        let L1Place { start, entries, is_active } = place;
        let disk = self.disk.clone();
        let len = entries * ENTRY;
        let entries = present(start, len, disk.source.size());
        *left = left.checked_sub(entries * ENTRY).ok_or_else(|| too_much("L1 tables"))?;
        self.count(start, len, 1)?;
        let mut table = EntryTable::new(disk.source.clone(), start, ENTRY, entries, WINDOW);
        for index in 0..entries {
            table.load(index).await?;
            let entry = be64(table.entries(index, index + 1), 0);
            if entry == 0 {
                continue;
            }
            let (offset, place) = (entry & ENTRY_OFFSET, table.place(index));
            if entry & L1_RESERVED != 0 {
                self.refuse(1, place, "Reserved bits are set in the L1 entry");
            }
            self.count(HostOffset(offset), self.cluster, 1)?;
            if !disk.header.is_aligned(offset) {
                self.refuse(1, place, "An L2 table is not aligned to a cluster, according to the L1 entry");
            }
            let refcount = self.stored.of(offset / self.cluster).filter(|_| is_active && offset != 0);
            self.compare_copied(entry, refcount, 1, place, "L1");
            // A table after the end of the file has no entries.
            if offset < disk.source.size() {
                let count = tables.entry(offset).or_default();
                count.active += u64::from(is_active);
                count.copied += u64::from(refcount.is_some());
                count.all += 1;
            }
            if tables.len() > MOST_TABLES {
                let message = format!("The image has more than {MOST_TABLES} L2 tables, which is too many to check");
                return Err(Error::new(ErrorKind::Limit, message).coded("check-too-large"));
            }
        }
        Ok(())
    }

    /// Compares the flag "copied" of `entry`, which the active disk has `times` times, with the refcount of its table or cluster.
    pub(super) fn compare_copied(
        &mut self,
        entry: u64,
        refcount: Option<u64>,
        times: u64,
        place: HostOffset,
        level: &str,
    ) {
        let Some(refcount) = refcount else { return };
        if (refcount == 1) != (entry & COPIED_FLAG != 0) {
            let what = format!("The flag 'copied' does not agree with refcount {refcount} in the {level} entry");
            self.report.corrupt(times, COPIED, place, &what);
        }
    }
}
