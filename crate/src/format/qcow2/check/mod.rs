//! The check of a qcow2 image: compares the refcount of each cluster with the references to it, as `qemu-img check` does.
//!
//! Each L2 table is read once, in the order of the file, however many L1 tables refer to it: its entries count as often.

mod bitmaps;
mod l1_tables;
mod l2_tables;
mod refcounts;

use super::Qcow2;
use super::structures::{BITMAPS_CONSISTENT, ENTRY};
use crate::disk::file_check::{CheckProgress, FileCheck};
use crate::disk::unit_counts::UnitCounts;
use crate::error::{Error, Result};
use crate::offsets::{HostOffset, SECTOR};
use refcounts::Refcounts;
use std::rc::Rc;

/// Memory for the part of a table that is read at a time, in bytes.
const WINDOW: u64 = 256 << 10;

// The codes of findings.
const ENTRY_INVALID: &str = "check-entry";
const OUTSIDE: &str = "check-outside";
const REFCOUNT: &str = "check-refcount";
const REFCOUNT_BLOCK: &str = "check-refcount-block";
const REFCOUNT_UNREAD: &str = "check-refcount-unread";
const COPIED: &str = "check-copied";

// The shares of the check that are done after the refcounts were read, and after the L2 tables.
const LOADING: (f64, f64) = (0.0, 0.1);
const COUNTING: (f64, f64) = (0.1, 1.0);

/// Checks `disk`. Fails with `corrupt` or `limit` if it cannot be checked, and as reading does.
pub(super) async fn check(disk: Rc<Qcow2>, progress: CheckProgress) -> Result<FileCheck> {
    let stored = Refcounts::load(&disk, &progress).await?;
    let mut check = Check::new(disk.clone(), stored);
    check.count(HostOffset(0), check.cluster, 1)?;
    let tables = check.count_l1_tables().await?;
    check.count_l2_tables(tables, &progress).await?;
    check.count_others().await?;
    check.count_refcount_blocks().await?;
    check.compare();
    Ok(check.report)
}

struct Check {
    disk: Rc<Qcow2>,
    /// Size of a cluster, in bytes.
    cluster: u64,
    /// The end of the file, in whole sectors as QEMU counts it.
    file_end: u64,
    /// The number of clusters of the file. The last one may be cut off.
    clusters: u64,
    /// The refcounts in the file.
    stored: Refcounts,
    /// The references that were found, by cluster.
    references: UnitCounts,
    report: FileCheck,
}

impl Check {
    fn new(disk: Rc<Qcow2>, stored: Refcounts) -> Self {
        let cluster = disk.header.cluster_size();
        let report = FileCheck {
            has_tables: true,
            counts_leaks: true,
            total_clusters: disk.header.size.div_ceil(cluster),
            ..FileCheck::default()
        };
        let file_end = disk.source.size().next_multiple_of(SECTOR);
        let clusters = file_end.div_ceil(cluster);
        Self { disk, cluster, file_end, clusters, stored, references: UnitCounts::default(), report }
    }

    /// Counts `times` references to the `len` bytes at `offset`. A part that is a cluster or more after the end of the file is a
    /// corruption instead.
    fn count(&mut self, offset: HostOffset, len: u64, times: u64) -> Result<()> {
        if len == 0 || times == 0 {
            return Ok(());
        }
        let end = offset.0.saturating_add(len);
        if end.saturating_sub(self.file_end) >= self.cluster {
            let what = format!("The image refers to {len} bytes after the end of the file,");
            self.report.corrupt(times, OUTSIDE, offset, &what);
            return Ok(());
        }
        let last = (end - 1) / self.cluster;
        for cluster in offset.0 / self.cluster..=last {
            self.references.add(cluster, times)?;
        }
        self.clusters = self.clusters.max(last + 1);
        Ok(())
    }

    /// Adds `count` corruptions because of an entry at `place`.
    fn refuse(&mut self, count: u64, place: HostOffset, what: &str) {
        self.report.corrupt(count, ENTRY_INVALID, place, what);
    }

    /// Counts what is not reached from an L1 table: the snapshot table, the refcount table, the LUKS header and bitmaps.
    async fn count_others(&mut self) -> Result<()> {
        let disk = self.disk.clone();
        if let Some(last) = disk.snapshots.last() {
            let start = disk.header.snapshots_offset;
            self.count(HostOffset(start), last.end.0.saturating_sub(start), 1)?;
        }
        let table = self.stored.table;
        self.count(table.start, table.len, 1)?;
        if let Some(range) = disk.encryption.as_ref().and(disk.extensions.encryption_header) {
            self.count(range.start, range.len, 1)?;
        }
        let are_consistent = disk.header.autoclear_features & BITMAPS_CONSISTENT != 0;
        match disk.extensions.bitmaps {
            Some(bitmaps) if are_consistent => self.count_bitmaps(&bitmaps).await,
            _ => Ok(()),
        }
    }
}

/// The number of entries in the `len` bytes of a table that the file has from `start` on.
fn present(start: HostOffset, len: u64, file_size: u64) -> u64 {
    file_size.saturating_sub(start.0).min(len) / ENTRY
}

/// The error for a structure that takes more than the file has: a sound image has all of them in the file, each once.
fn too_much(what: &str) -> Error {
    let message = format!("The {what} together are larger than the file, so the image cannot be checked");
    Error::new(crate::ErrorKind::Limit, message).coded("check-too-large")
}
