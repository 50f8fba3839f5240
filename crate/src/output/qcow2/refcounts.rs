//! Counts how often each cluster of the output is used, in blocks that are written when they are complete.

use super::ImageGeometry;
use crate::error::Result;
use crate::format::qcow2::structures::ENTRY;
use crate::io::source::zeroed;

/// The size of a refcount, in bytes.
const REFCOUNT: u64 = 2;

pub(super) struct Refcounts {
    cluster_bits: u32,
    /// The refcounts of the current range, big-endian. The ranges before have their blocks.
    counts: Vec<u8>,
    /// The number of the current range.
    range: u64,
    /// The refcount table: the offset of each range's block; 0 for blocks that are not written yet.
    table: Vec<u64>,
}

impl Refcounts {
    /// Begins with `reserved` bytes at the start of the file, which are used once. Fails with `internal` if memory runs
    /// out.
    pub(super) fn new(geometry: ImageGeometry, reserved: u64) -> Result<Self> {
        let cluster_bits = geometry.cluster_bits;
        let mut refcounts =
            Self { cluster_bits, counts: zeroed(geometry.cluster() as usize)?, range: 0, table: Vec::new() };
        let clusters = reserved >> cluster_bits;
        refcounts.range = clusters / refcounts.per_block();
        // The blocks of whole ranges that are reserved follow at the end.
        refcounts.table = vec![0; refcounts.range as usize];
        let first = (refcounts.range * refcounts.per_block()) << cluster_bits;
        if first < reserved {
            refcounts.add(first, reserved - first);
        }
        Ok(refcounts)
    }

    fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// The number of clusters that a block counts.
    fn per_block(&self) -> u64 {
        self.cluster() / REFCOUNT
    }

    /// The place of the current range's block: its last cluster.
    pub(super) fn block_offset(&self) -> u64 {
        ((self.range + 1) * self.per_block() - 1) << self.cluster_bits
    }

    /// Counts a use of the clusters of `len` bytes at `offset`, which must be in the current range.
    pub(super) fn add(&mut self, offset: u64, len: u64) {
        let first = self.range * self.per_block();
        for cluster in offset >> self.cluster_bits..=(offset + len - 1) >> self.cluster_bits {
            let count = self.count_at(cluster - first);
            *count = (u16::from_be_bytes(*count) + 1).to_be_bytes();
        }
    }

    /// Whether the cluster at `offset`, in the current range, has the largest refcount already.
    pub(super) fn is_full(&mut self, offset: u64) -> bool {
        let first = self.range * self.per_block();
        *self.count_at((offset >> self.cluster_bits) - first) == u16::MAX.to_be_bytes()
    }

    fn count_at(&mut self, number: u64) -> &mut [u8; REFCOUNT as usize] {
        let at = (number * REFCOUNT) as usize;
        self.counts[at..].first_chunk_mut().expect("a cluster of the current range")
    }

    /// Returns the block of the current range, which must be written at [`Refcounts::block_offset`], and begins the next
    /// range.
    pub(super) fn end_block(&mut self) -> Vec<u8> {
        let offset = self.block_offset();
        self.add(offset, self.cluster());
        let block = self.counts.clone();
        self.counts.fill(0);
        self.table.push(offset);
        self.range += 1;
        block
    }

    /// Ends the file at `start`, the first unused cluster: returns the refcount table, and the blocks that are not
    /// written yet. They must be written from `start`, one after another, each in whole clusters.
    pub(super) fn finish(&mut self, start: u64) -> LastRefcounts {
        let start = start >> self.cluster_bits;
        let missing = self.table.iter().filter(|&&offset| offset == 0).count() as u64;
        let written = self.table.len() as u64 - missing;
        let (blocks, table) = refcount_clusters(self.cluster(), start, written);
        let end = start + table + blocks;
        self.table.resize((blocks + written) as usize, 0);
        let mut made = Vec::new();
        for range in 0..self.table.len() as u64 {
            if self.table[range as usize] == 0 {
                self.table[range as usize] = (start + table + made.len() as u64) << self.cluster_bits;
                made.push(self.last_block(range, start, end));
            }
        }
        let mut bytes: Vec<u8> = self.table.iter().flat_map(|offset| offset.to_be_bytes()).collect();
        bytes.resize((table << self.cluster_bits) as usize, 0);
        LastRefcounts { table: bytes, table_clusters: table as u32, blocks: made }
    }

    /// The block of `range`. All clusters from `start` to `end` are used once.
    fn last_block(&self, range: u64, start: u64, end: u64) -> Vec<u8> {
        let first = range * self.per_block();
        (0..self.per_block())
            .flat_map(|number| {
                let at = (number * REFCOUNT) as usize;
                match first + number {
                    cluster if cluster >= end => [0, 0],
                    cluster if cluster < start && range == self.range => [self.counts[at], self.counts[at + 1]],
                    _ => [0, 1],
                }
            })
            .collect()
    }
}

/// The numbers of clusters of the refcount blocks and of the refcount table after `counted` clusters of `cluster` bytes. These have
/// `written` blocks.
pub(super) fn refcount_clusters(cluster: u64, counted: u64, written: u64) -> (u64, u64) {
    let (mut blocks, mut table) = (0, 0);
    // Blocks and the table are counted, too, so their number may grow.
    loop {
        let ranges = (counted + blocks + table).div_ceil(cluster / REFCOUNT);
        let needed = (ranges - written, (ranges * ENTRY).div_ceil(cluster));
        if needed == (blocks, table) {
            return needed;
        }
        (blocks, table) = needed;
    }
}

/// The end of the file.
pub(super) struct LastRefcounts {
    /// The refcount table, in whole clusters.
    pub(crate) table: Vec<u8>,
    /// Its number of clusters.
    pub(crate) table_clusters: u32,
    pub(crate) blocks: Vec<Vec<u8>>,
}
