//! The refcounts in the file (specification: "Host cluster management"), and their comparison with the references.

use super::super::structures::{ENTRY, REFCOUNT_BLOCK_OFFSET};
use super::{Check, LOADING, Qcow2, REFCOUNT, REFCOUNT_BLOCK, REFCOUNT_UNREAD, WINDOW, present, too_much};
use crate::disk::file_check::{CheckProgress, FindingKind, at};
use crate::disk::unit_counts::UnitCounts;
use crate::error::{Error, Result};
use crate::format::entry_table::EntryTable;
use crate::io::source::read_exact;
use crate::offsets::{ByteRange, HostOffset, be64};
use std::cmp::Ordering;
use std::ops::Range;

/// The refcounts of all clusters, as the file states them.
pub(super) struct Refcounts {
    /// The refcount table.
    pub(super) table: ByteRange,
    counts: UnitCounts,
    /// The clusters whose refcount blocks have an impossible place, in ascending order.
    unread: Vec<Range<u64>>,
    /// The largest refcount that a block has room for.
    pub(super) most: u64,
}

impl Refcounts {
    /// Reads the refcounts of `disk`. Fails with `corrupt` if the header gives no valid place of the refcount table, with `limit`, and
    /// as reading does.
    pub(super) async fn load(disk: &Qcow2, progress: &CheckProgress) -> Result<Self> {
        let header = &disk.header;
        let table = match header.refcount_table_clusters {
            0 => ByteRange { start: HostOffset(0), len: 0 },
            _ => header.refcount_table().ok_or_else(|| {
                let field = super::super::structures::Qcow2Header::refcount_table_offset;
                Error::corrupt("the refcount table has an impossible place or size", HostOffset(field))
            })?,
        };
        let bits = 1u64 << header.refcount_order;
        let most = u64::MAX >> (64 - bits);
        let mut refcounts = Self { table, counts: UnitCounts::default(), unread: Vec::new(), most };
        let (cluster, size) = (header.cluster_size(), disk.source.size());
        let block_entries = cluster * 8 / bits;
        let entries = present(table.start, table.len, size);
        let mut blocks_left = size.div_ceil(cluster);
        let mut entry_table = EntryTable::new(disk.source.clone(), table.start, ENTRY, entries, WINDOW);
        for index in 0..entries {
            entry_table.load(index).await?;
            let offset = be64(entry_table.entries(index, index + 1), 0) & REFCOUNT_BLOCK_OFFSET;
            let first = index * block_entries;
            if offset == 0 {
                continue;
            }
            if !header.is_aligned(offset) || offset > i64::MAX as u64 {
                refcounts.unread.push(first..first + block_entries);
                continue;
            }
            let len = size.saturating_sub(offset).min(cluster);
            if len == 0 {
                continue;
            }
            blocks_left = blocks_left.checked_sub(1).ok_or_else(|| too_much("refcount blocks"))?;
            let block =
                read_exact(&*disk.source, ByteRange { start: HostOffset(offset), len }, "refcount block").await?;
            refcounts.add_block(&block, first, bits)?;
            progress.reached(LOADING, index, entries);
        }
        Ok(refcounts)
    }

    /// Adds the refcounts of a block, which has those from cluster `first` on.
    fn add_block(&mut self, block: &[u8], first: u64, bits: u64) -> Result<()> {
        for (number, word) in
            block.chunks(size_of::<u64>()).enumerate().filter(|(_, word)| word.iter().any(|&byte| byte != 0))
        {
            let start = first + number as u64 * 64 / bits;
            if bits >= 8 {
                for (at, bytes) in word.chunks_exact(bits as usize / 8).enumerate() {
                    let count = bytes.iter().fold(0, |count, &byte| count << 8 | u64::from(byte));
                    self.counts.add(start + at as u64, count)?;
                }
                continue;
            }
            // Smaller ones begin at the lowest bits of a byte.
            for at in 0..word.len() as u64 * 8 / bits {
                let byte = word[(at * bits / 8) as usize];
                let count = u64::from(byte) >> (at * bits % 8) & self.most;
                self.counts.add(start + at, count)?;
            }
        }
        Ok(())
    }

    /// The refcount of `cluster`; `None` if its block has an impossible place.
    pub(super) fn of(&self, cluster: u64) -> Option<u64> {
        let after = self.unread.partition_point(|range| range.end <= cluster);
        let is_unread = self.unread.get(after).is_some_and(|range| range.contains(&cluster));
        (!is_unread).then(|| self.counts.get(cluster))
    }
}

impl Check {
    /// Counts the refcount blocks. Each must have one reference: that of the refcount table.
    pub(super) async fn count_refcount_blocks(&mut self) -> Result<()> {
        let disk = self.disk.clone();
        let table = self.stored.table;
        let entries = present(table.start, table.len, disk.source.size());
        let mut entry_table = EntryTable::new(disk.source.clone(), table.start, ENTRY, entries, WINDOW);
        for index in 0..entries {
            entry_table.load(index).await?;
            let entry = be64(entry_table.entries(index, index + 1), 0);
            let (offset, place) = (entry & REFCOUNT_BLOCK_OFFSET, entry_table.place(index));
            let mut refuse = |what: &str| self.report.corrupt(1, REFCOUNT_BLOCK, place, what);
            if entry != offset {
                refuse("Reserved bits are set in the entry of the refcount table");
            } else if !disk.header.is_aligned(offset) {
                refuse("A refcount block is not aligned to a cluster, according to the entry");
            } else if offset / self.cluster >= self.clusters {
                refuse("A refcount block is after the end of the file, according to the entry");
            } else if offset != 0 {
                self.count(HostOffset(offset), self.cluster, 1)?;
                if self.references.get(offset / self.cluster).min(self.stored.most) != 1 {
                    let what = "A refcount block is in a cluster that something else uses, too,";
                    self.report.corrupt(1, REFCOUNT_BLOCK, HostOffset(offset), what);
                }
            }
        }
        Ok(())
    }

    /// Compares the refcounts of the file with the references. Neighbours with the same counts are one finding.
    pub(super) fn compare(&mut self) {
        let (clusters, cluster_size, most) = (self.clusters, self.cluster, self.stored.most);
        let report = &mut self.report;
        for range in self.stored.unread.iter().filter(|range| range.start < clusters) {
            let count = range.end.min(clusters) - range.start;
            let offset = HostOffset(range.start * cluster_size);
            let what =
                format!("The refcount block of {count} clusters has an impossible place: their refcounts are unknown,");
            report.add(FindingKind::Unchecked, count, at(REFCOUNT_UNREAD, offset, &what));
        }
        let mut run: Option<Mismatch> = None;
        let mut last_used = 0;
        let both = merged(self.stored.counts.counted(), self.references.counted());
        for (cluster, stored, references) in both.take_while(|&(cluster, ..)| cluster < clusters) {
            if references > most {
                let what = format!("The cluster has {references} references, more than its refcount has room for,");
                report.corrupt(references - most, REFCOUNT, HostOffset(cluster * cluster_size), &what);
            }
            if self.stored.of(cluster).is_none() {
                continue;
            }
            last_used = cluster;
            let next = Mismatch { start: cluster, count: 1, stored, references: references.min(most) };
            if next.order() == Ordering::Equal {
                continue;
            }
            match &mut run {
                Some(run) if run.is_followed_by(&next) => run.count += 1,
                _ => {
                    if let Some(run) = run.replace(next) {
                        run.report(report, cluster_size);
                    }
                }
            }
        }
        if let Some(run) = run {
            run.report(report, cluster_size);
        }
        self.report.image_end = (last_used + 1) * cluster_size;
    }
}

/// Clusters whose refcount is not the number of references.
struct Mismatch {
    start: u64,
    count: u64,
    stored: u64,
    references: u64,
}

impl Mismatch {
    fn order(&self) -> Ordering {
        self.stored.cmp(&self.references)
    }

    fn is_followed_by(&self, next: &Self) -> bool {
        next.start == self.start + self.count && (next.stored, next.references) == (self.stored, self.references)
    }

    fn report(&self, report: &mut crate::disk::file_check::FileCheck, cluster_size: u64) {
        let Self { start, count, stored, references } = *self;
        let offset = HostOffset(start * cluster_size);
        if self.order() == Ordering::Greater {
            report.leak(count, cluster_size, offset);
        } else {
            let clusters = if count == 1 { "1 cluster has".to_owned() } else { format!("{count} clusters have") };
            let plural = if references == 1 { "" } else { "s" };
            let what = format!("{clusters} refcount {stored}, but {references} reference{plural},");
            report.corrupt(count, REFCOUNT, offset, &what);
        }
    }
}

/// Merges two lists of clusters with their counts. A cluster that one of them lacks has the count 0 there.
fn merged(
    stored: impl Iterator<Item = (u64, u64)>,
    references: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = (u64, u64, u64)> {
    let (mut stored, mut references) = (stored.peekable(), references.peekable());
    std::iter::from_fn(move || {
        let next = |counts: Option<&(u64, u64)>| counts.map_or(u64::MAX, |&(cluster, _)| cluster);
        let (first, second) = (next(stored.peek()), next(references.peek()));
        let cluster = first.min(second);
        let stored = stored.next_if(|&(at, _)| at == cluster).map(|(_, count)| count);
        let references = references.next_if(|&(at, _)| at == cluster).map(|(_, count)| count);
        (stored.is_some() || references.is_some())
            .then(|| (cluster, stored.unwrap_or_default(), references.unwrap_or_default()))
    })
}
