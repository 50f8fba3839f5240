//! A qcow2 file, and where its structures are.

use std::path::Path;

/// A qcow2 file, and where its structures are.
#[derive(Clone)]
pub struct Qcow2(pub Vec<u8>);

impl Qcow2 {
    pub fn read(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap())
    }

    pub fn number(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    pub fn set(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_be_bytes());
    }

    pub fn cluster(&self) -> usize {
        1 << (self.number(16) as u32)
    }

    pub fn l1(&self) -> usize {
        self.number(40) as usize
    }

    pub fn refcount_table(&self) -> usize {
        self.number(48) as usize
    }

    /// The offset in an entry.
    pub fn offset(&self, at: usize) -> usize {
        (self.number(at) & 0x00ff_ffff_ffff_fe00) as usize
    }

    pub fn l2(&self) -> usize {
        self.offset(self.l1())
    }

    /// The first data cluster.
    pub fn data(&self) -> usize {
        self.offset(self.l2())
    }

    pub fn refcount_block(&self) -> usize {
        self.offset(self.refcount_table())
    }

    pub fn refcount_order(&self) -> u32 {
        if self.0[7] < 3 { 4 } else { self.0[99].into() }
    }

    /// Sets the refcount of the cluster at `offset`.
    pub fn set_refcount(&mut self, offset: usize, value: u64) {
        let (bits, cluster) = (1usize << self.refcount_order(), offset / self.cluster());
        let at = self.refcount_block() + cluster * bits / 8;
        if bits >= 8 {
            self.0[at..at + bits / 8].copy_from_slice(&value.to_be_bytes()[8 - bits / 8..]);
        } else {
            let shift = cluster * bits % 8;
            let mask = ((1u8 << bits) - 1) << shift;
            self.0[at] = self.0[at] & !mask | (value as u8) << shift;
        }
    }

    /// Adds clusters at the end, and returns the offset of the first.
    pub fn grow(&mut self, clusters: usize) -> usize {
        let (end, cluster) = (self.0.len().next_multiple_of(self.cluster()), self.cluster());
        self.0.resize(end + clusters * cluster, 0);
        end
    }
}

pub const COPIED: u64 = 1 << 63;
