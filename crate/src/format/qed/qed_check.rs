//! Checks a QED image: finds the clusters that its tables use, as `qemu-img check` does.

use super::{ENTRY_SIZE, Qed, QedHeader, UNALLOCATED, WINDOW, ZERO};
use crate::disk::file_check::{CheckProgress, FileCheck};
use crate::disk::host_ranges::{DATA_OVERLAPS, TABLE_OVERLAPS};
use crate::disk::unit_counts::UnitCounts;
use crate::error::Result;
use crate::error::damage::Damage;
use crate::format::entry_table::EntryTable;
use crate::offsets::{HostOffset, le64};
use std::rc::Rc;

/// Checks `disk`. Fails with `limit`, and as reading does.
pub(super) async fn check(disk: Rc<Qed>, progress: CheckProgress) -> Result<FileCheck> {
    let header = disk.header;
    let report = FileCheck {
        has_tables: true,
        counts_leaks: true,
        total_clusters: header.image_size.div_ceil(header.cluster_len()),
        ..FileCheck::default()
    };
    let mut check = QedCheck { header, size: disk.source.size(), used: UnitCounts::default(), report };
    check.count_tables(&disk, &progress).await?;
    let clusters = check.size.div_ceil(header.cluster_len());
    for range in check.used.unused(header.header_size.into()..clusters) {
        let offset = HostOffset(range.start * header.cluster_len());
        check.report.leak(range.end - range.start, header.cluster_len(), offset);
    }
    Ok(check.report)
}

struct QedCheck {
    header: QedHeader,
    /// The size of the file, in bytes.
    size: u64,
    /// How often each cluster is used.
    used: UnitCounts,
    report: FileCheck,
}

impl QedCheck {
    async fn count_tables(&mut self, disk: &Qed, progress: &CheckProgress) -> Result<()> {
        let (header, entries) = (self.header, self.header.table_entries());
        if header.image_size == 0 {
            return Ok(());
        }
        let table_clusters = header.table_size.into();
        self.count(header.l1_table_offset, table_clusters, TABLE_OVERLAPS)?;
        let table = |at: u64| EntryTable::new(disk.source.clone(), HostOffset(at), ENTRY_SIZE, entries, WINDOW);
        let mut l1 = table(header.l1_table_offset);
        for index in 0..entries {
            l1.load(index).await?;
            let Some(entry) = l1.entries(index, index + 1).get(..ENTRY_SIZE as usize) else { break };
            let offset = le64(entry, 0);
            if offset == UNALLOCATED {
                continue;
            }
            let last = offset.saturating_add((table_clusters - 1) * header.cluster_len());
            if !self.is_in_file(offset) || !self.is_in_file(last) {
                self.refuse(super::L2_MISPLACED, super::L2_TRUNCATED, offset, l1.place(index));
            } else if self.count(offset, table_clusters, TABLE_OVERLAPS)? {
                self.count_clusters(table(offset)).await?;
            }
            progress.reached((0.0, 1.0), index, entries);
        }
        Ok(())
    }

    /// Counts the clusters of an L2 table.
    async fn count_clusters(&mut self, mut l2: EntryTable) -> Result<()> {
        let mut next = None;
        for index in 0..self.header.table_entries() {
            l2.load(index).await?;
            let Some(entry) = l2.entries(index, index + 1).get(..ENTRY_SIZE as usize) else { break };
            let offset = le64(entry, 0);
            if matches!(offset, UNALLOCATED | ZERO) {
                continue;
            }
            self.report.allocated_clusters += 1;
            let follows = next.replace(offset.wrapping_add(self.header.cluster_len()));
            if follows.is_some_and(|next| next != offset) {
                self.report.fragmented_clusters += 1;
            }
            if self.is_in_file(offset) {
                self.count(offset, 1, DATA_OVERLAPS)?;
            } else {
                self.refuse(super::CLUSTER_MISPLACED, super::CLUSTER_TRUNCATED, offset, l2.place(index));
            }
        }
        Ok(())
    }

    /// Whether a cluster may be at `offset`, and begins in the file.
    fn is_in_file(&self, offset: u64) -> bool {
        self.header.is_place(offset) && offset < self.size
    }

    /// Counts `clusters` clusters from `offset` on. Returns whether nothing else uses them.
    fn count(&mut self, offset: u64, clusters: u64, damage: Damage) -> Result<bool> {
        let first = offset / self.header.cluster_len();
        let mut is_alone = true;
        for cluster in first..first + clusters {
            if self.used.get(cluster) > 0 {
                is_alone = false;
                self.report.damaged(1, damage, HostOffset(cluster * self.header.cluster_len()));
            }
            self.used.add(cluster, 1)?;
        }
        Ok(is_alone)
    }

    /// Adds the corruption that the entry at `place` refers to `offset`.
    fn refuse(&mut self, misplaced: Damage, truncated: Damage, offset: u64, place: HostOffset) {
        let damage = if self.header.is_place(offset) { truncated } else { misplaced };
        self.report.damaged(1, damage, place);
    }
}
