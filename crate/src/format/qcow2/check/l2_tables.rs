//! The L2 tables, each read once.

use super::super::l2::{self, Cluster};
use super::super::structures::{COMPRESSED, COPIED, ENTRY_OFFSET, L2_RESERVED, ZERO_CLUSTER};
use super::l1_tables::{L2Tables, TableUse};
use super::{COUNTING, Check};
use crate::disk::file_check::CheckProgress;
use crate::error::Result;
use crate::io::source::read_exact;
use crate::offsets::{ByteRange, HostOffset, be64};

/// The fault of an entry, by the bits of its subclusters.
const BOTH: &str = "A subcluster is both allocated and zero in the L2 entry";
const NOWHERE: &str = "A subcluster of a cluster without a place is allocated in the L2 entry";

/// A part of the disk as an L2 entry describes it.
struct L2Entry {
    entry: u64,
    /// The subclusters: the lower half has those that are allocated, the upper half those that are zero.
    bitmap: u64,
    /// The place of the entry in the file.
    place: HostOffset,
}

impl Check {
    /// Counts the references in `tables`.
    pub(super) async fn count_l2_tables(&mut self, tables: L2Tables, progress: &CheckProgress) -> Result<()> {
        let disk = self.disk.clone();
        let all = tables.len() as u64;
        for (number, (offset, uses)) in tables.into_iter().enumerate() {
            let len = (disk.source.size() - offset).min(self.cluster);
            let table = read_exact(&*disk.source, ByteRange { start: HostOffset(offset), len }, "L2 table").await?;
            self.count_l2(&table, HostOffset(offset), uses)?;
            progress.reached(COUNTING, number as u64, all);
        }
        Ok(())
    }

    /// Counts the references in `table`, which is at `start`.
    fn count_l2(&mut self, table: &[u8], start: HostOffset, uses: TableUse) -> Result<()> {
        let size = self.disk.header.l2_entry_size() as usize;
        // The place in the file after the last cluster, by which fragments are counted.
        let mut next = None;
        for (index, bytes) in
            table.chunks_exact(size).enumerate().filter(|(_, bytes)| bytes.iter().any(|&byte| byte != 0))
        {
            let entry = L2Entry {
                entry: be64(bytes, 0),
                bitmap: if size > 8 { be64(bytes, 8) } else { 0 },
                place: HostOffset(start.0 + (index * size) as u64),
            };
            if entry.entry & COMPRESSED != 0 {
                self.count_compressed(&entry, uses)?;
            } else {
                self.count_cluster(&entry, uses, &mut next)?;
            }
        }
        Ok(())
    }

    fn count_compressed(&mut self, &L2Entry { entry, bitmap, place }: &L2Entry, uses: TableUse) -> Result<()> {
        if entry & COPIED != 0 {
            self.refuse(uses.all, place, "The flag 'copied' is set for a compressed cluster in the L2 entry");
        }
        if self.disk.header.has_data_file() {
            self.refuse(uses.all, place, "An image with a data file has a compressed cluster in the L2 entry");
            return Ok(());
        }
        if bitmap != 0 {
            self.refuse(uses.all, place, "A compressed cluster has subclusters in the L2 entry");
            return Ok(());
        }
        let Cluster::Compressed { host, host_len } = l2::compressed(&self.disk.header, entry) else { return Ok(()) };
        self.count(host, host_len, uses.all)?;
        self.report.allocated_clusters += uses.active;
        self.report.compressed_clusters += uses.active;
        // Compressed clusters share host clusters, so none begins where the previous one ended.
        self.report.fragmented_clusters += uses.active;
        Ok(())
    }

    fn count_cluster(&mut self, entry: &L2Entry, uses: TableUse, next: &mut Option<u64>) -> Result<()> {
        let &L2Entry { entry, bitmap, place } = entry;
        let (has_subclusters, has_data_file) = (self.disk.header.has_extended_l2(), self.disk.header.has_data_file());
        if entry & L2_RESERVED != 0 {
            self.refuse(uses.all, place, "Reserved bits are set in the L2 entry");
        }
        let offset = entry & ENTRY_OFFSET;
        let is_zero = !has_subclusters && entry & ZERO_CLUSTER != 0;
        // A data file has a cluster at offset 0.
        let is_allocated = offset != 0 || (!is_zero && has_data_file && entry & COPIED != 0);
        if !is_allocated {
            if bitmap as u32 != 0 {
                self.refuse(uses.all, place, NOWHERE);
            }
            return Ok(());
        }
        // The clusters of a data file have no refcounts.
        let refcount = if has_data_file { Some(1) } else { self.stored.of(offset / self.cluster) };
        self.compare_copied(entry, refcount, uses.copied, place, "L2");
        if (bitmap >> 32) & bitmap != 0 {
            self.refuse(uses.all, place, BOTH);
        }
        if !self.disk.header.is_aligned(offset) {
            self.refuse(uses.all, place, "A cluster is not aligned, according to the L2 entry");
        }
        self.report.allocated_clusters += uses.active;
        if next.replace(offset + self.cluster).is_some_and(|next| next != offset) {
            self.report.fragmented_clusters += uses.active;
        }
        if !has_data_file {
            self.count(HostOffset(offset), self.cluster, uses.all)?;
        }
        Ok(())
    }
}
