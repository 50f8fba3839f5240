//! Places clusters, and makes the L1 and L2 tables and the header.

use super::ImageGeometry;
use super::refcounts::Refcounts;
use crate::compress::EncodedPart;
use crate::error::{Error, ErrorKind, Result};
use crate::format::qcow2::structures::{
    COMPRESSED, COMPRESSION_TYPE, COPIED, ENTRY, HEADER_LENGTH, MAGIC, Qcow2Header, ZLIB, compressed_offset_bits,
};
use crate::io::source::zeroed;
use crate::offsets::{GuestOffset, GuestRange, SECTOR};
use crate::output::layout::{Assembler, Writes};
use crate::output::put;

pub(super) struct Qcow2Assembler {
    geometry: ImageGeometry,
    compression_type: u8,
    version: u32,
    /// The L1 table, big-endian, in whole clusters.
    l1: Vec<u8>,
    /// The L2 table with the last clusters, big-endian, and its number.
    l2: Vec<u8>,
    table: Option<u64>,
    refcounts: Refcounts,
    /// The offset of the first unused byte. Compressed clusters begin at any byte.
    next: u64,
}

impl Qcow2Assembler {
    pub(super) fn new(geometry: ImageGeometry, compression_type: u8, version: u32) -> Result<Self> {
        let reserved = geometry.reserved();
        Ok(Self {
            geometry,
            compression_type,
            version,
            l1: zeroed((reserved - geometry.cluster()) as usize)?,
            l2: zeroed(geometry.cluster() as usize)?,
            table: None,
            refcounts: Refcounts::new(geometry, reserved)?,
            next: reserved,
        })
    }

    /// Places `parts`, which are mapped by one L2 table: compressed clusters first, one directly after another, then the
    /// others, so that only one cluster is partly filled.
    fn place_in_table(&mut self, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        for part in parts.iter().filter(|part| !part.is_stored) {
            self.place_compressed(part, writes)?;
        }
        for part in parts.iter().filter(|part| part.is_stored) {
            self.place_stored(part, writes);
        }
        Ok(())
    }

    fn place_compressed(&mut self, part: &EncodedPart, writes: &mut Writes) -> Result<()> {
        let len = part.encoded_len as u64;
        if self.next + len <= self.refcounts.block_offset() && self.refcounts.is_full(self.next) {
            self.align();
        }
        let offset = self.allocate(len, writes);
        let sectors_at = compressed_offset_bits(self.geometry.cluster_bits);
        if offset + len > 1 << sectors_at {
            return Err(full());
        }
        let additional = (offset + len - 1) / SECTOR - offset / SECTOR;
        self.enter(part.guest, COMPRESSED | additional << sectors_at | offset);
        writes.part(offset, part);
        Ok(())
    }

    fn place_stored(&mut self, part: &EncodedPart, writes: &mut Writes) {
        let cluster = self.geometry.cluster();
        self.align();
        let mut done = 0;
        while done < part.encoded_len as u64 {
            let len = cluster.min(part.encoded_len as u64 - done);
            let offset = self.allocate(cluster, writes);
            self.enter(part.guest + done, COPIED | offset);
            writes.range(offset, part.start + done as usize, len as usize);
            done += len;
        }
    }

    /// Allocates `len` bytes, at most a cluster, and returns their offset.
    fn allocate(&mut self, len: u64, writes: &mut Writes) -> u64 {
        let block = self.refcounts.block_offset();
        if self.next + len > block {
            writes.own(block, self.refcounts.end_block());
            self.next = block + self.geometry.cluster();
        }
        let offset = self.next;
        self.refcounts.add(offset, len);
        self.next += len;
        offset
    }

    fn align(&mut self) {
        self.next = self.next.next_multiple_of(self.geometry.cluster());
    }

    /// Sets the entry of the cluster at `guest` in the L2 table.
    fn enter(&mut self, guest: GuestOffset, entry: u64) {
        let number = (guest.0 % self.geometry.mapped_by_table()) >> self.geometry.cluster_bits;
        put(&mut self.l2, number * ENTRY, &entry.to_be_bytes());
    }

    /// Makes table number `table` the current one. Writes the one before.
    fn begin_table(&mut self, table: u64, writes: &mut Writes) {
        if self.table != Some(table) {
            self.end_table(writes);
            self.table = Some(table);
        }
    }

    fn end_table(&mut self, writes: &mut Writes) {
        if let Some(table) = self.table.take() {
            self.align();
            let offset = self.allocate(self.geometry.cluster(), writes);
            writes.own(offset, self.l2.clone());
            self.l2.fill(0);
            put(&mut self.l1, table * ENTRY, &(COPIED | offset).to_be_bytes());
        }
    }

    /// The header, in its cluster.
    fn header(&self, refcount_table_offset: u64, refcount_table_clusters: u32) -> Vec<u8> {
        let header = Qcow2Header {
            magic: MAGIC,
            version: self.version,
            cluster_bits: self.geometry.cluster_bits,
            size: self.geometry.disk_size,
            l1_size: self.geometry.l1_entries() as u32,
            l1_table_offset: self.geometry.cluster(),
            refcount_table_offset,
            refcount_table_clusters,
            incompatible_features: if self.compression_type == ZLIB { 0 } else { COMPRESSION_TYPE },
            // The header of version 2 ends before. Its refcounts always have 2^4 bits.
            refcount_order: if self.version == 2 { 0 } else { 4 },
            header_length: if self.version == 2 { 0 } else { HEADER_LENGTH as u32 },
            compression_type: self.compression_type,
            ..Qcow2Header::zero()
        };
        // The zeros after the header are the end of the header extensions.
        let mut bytes = header.to_bytes().to_vec();
        bytes.resize(self.geometry.cluster() as usize, 0);
        bytes
    }
}

impl Assembler for Qcow2Assembler {
    fn place(&mut self, _region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        let mapped = self.geometry.mapped_by_table();
        let parts = split(parts, mapped)?;
        let table = |part: &EncodedPart| part.guest.0 / mapped;
        for parts in parts.chunk_by(|one, next| table(one) == table(next)) {
            self.begin_table(table(&parts[0]), writes);
            self.place_in_table(parts, writes)?;
        }
        Ok(())
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        self.end_table(writes);
        self.align();
        let table_offset = self.next;
        let end = self.refcounts.finish(table_offset);
        let mut at = table_offset;
        for bytes in std::iter::once(end.table).chain(end.blocks) {
            let len = bytes.len() as u64;
            writes.own(at, bytes);
            at += len;
        }
        writes.own(self.geometry.cluster(), std::mem::take(&mut self.l1));
        writes.own(0, self.header(table_offset, end.table_clusters));
        Ok(())
    }
}

/// Splits `parts` where another L2 table begins, every `mapped` bytes. Fails with `internal` if memory runs out.
fn split(parts: &[EncodedPart], mapped: u64) -> Result<Vec<EncodedPart>> {
    let tables = |part: &EncodedPart| (part.guest.0 + part.len - 1) / mapped - part.guest.0 / mapped + 1;
    let count = parts.iter().map(tables).sum::<u64>() as usize;
    let mut split = Vec::new();
    split.try_reserve_exact(count).map_err(|_| Error::out_of_memory(count * size_of::<EncodedPart>()))?;
    for part in parts {
        let mut rest = *part;
        // Only units that are stored unchanged share a part, so their lengths are equal.
        while rest.is_stored && rest.guest.0 % mapped + rest.len > mapped {
            let len = mapped - rest.guest.0 % mapped;
            split.push(EncodedPart { len, encoded_len: len as usize, ..rest });
            rest = EncodedPart {
                guest: rest.guest + len,
                len: rest.len - len,
                start: rest.start + len as usize,
                encoded_len: rest.encoded_len - len as usize,
                ..rest
            };
        }
        split.push(rest);
    }
    Ok(split)
}

fn full() -> Error {
    let message = "A qcow2 image with clusters of this size cannot hold so much data; choose a smaller cluster_size";
    Error::new(ErrorKind::Limit, message).coded("qcow2-full")
}
