//! Entries of the L1 and L2 tables (specification: "Cluster mapping").

use super::header::Header;
use crate::damage::Damage;
use crate::units::{HostOffset, be64};

/// Bits 9 to 55 of an entry: where a table or a cluster lies. The bits around them hold flags or
/// are reserved, and readers ignore them.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// The cluster's refcount is 1; in an image with a data file, where offset 0 is a place, that it has
/// one.
const COPIED: u64 = 1 << 63;
/// The cluster is compressed.
const COMPRESSED: u64 = 1 << 62;
/// The cluster reads as zeros, whatever lies at its offset (version 3, without subclusters).
const ZERO: u64 = 1;
/// The unit in which the length of compressed data is given, in bytes.
const SECTOR: u64 = 512;
/// Of a cluster with an extended L2 entry.
pub(super) const SUBCLUSTERS: u64 = 32;

/// Where the L2 table of an L1 entry lies; `None` where there is none.
pub(super) fn l2_table(header: &Header, entry: u64) -> Result<Option<HostOffset>, Damage> {
    let offset = entry & OFFSET;
    if !header.is_aligned(offset) {
        return Err(Damage::L2Unaligned);
    }
    Ok((offset != 0).then_some(HostOffset(offset)))
}

/// How many entries of `entry_size` bytes at the start of `entries` are all zero: their clusters are
/// unallocated in every kind of image, and a sparse one consists of little else.
pub(super) fn empty_entries(entries: &[u8], entry_size: u64) -> u64 {
    const WORD: usize = size_of::<u64>();
    let words = entries.chunks_exact(WORD).take_while(|word| **word == [0; WORD]).count();
    (words * WORD) as u64 / entry_size
}

/// What an L2 entry says of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cluster {
    /// One kind of content throughout.
    Whole(Content, Option<HostOffset>),
    /// Each subcluster by itself: a bit for those that are allocated, a bit for those that are zero.
    Split { host: Option<HostOffset>, allocated: u32, zero: u32 },
    /// Compressed.
    Compressed { host: HostOffset, host_len: u64 },
}

/// What a cluster or a subcluster holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Unallocated,
    Zero,
    Data,
}

/// Reads the L2 entry at the start of `bytes`. `guest` is where its cluster lies on the disk.
pub(super) fn cluster(header: &Header, bytes: &[u8], guest: u64) -> Result<Cluster, Damage> {
    let entry = be64(bytes, 0);
    if entry & COMPRESSED != 0 {
        return if header.has_data_file() { Err(Damage::DataFileCompressed) } else { Ok(compressed(header, entry)) };
    }
    let offset = entry & OFFSET;
    if !header.is_aligned(offset) {
        return Err(Damage::ClusterUnaligned);
    }
    let host = (offset != 0 || (header.has_data_file() && entry & COPIED != 0)).then_some(HostOffset(offset));
    if header.has_data_file() && host.is_some_and(|host| host.0 != guest) {
        return Err(Damage::DataFileOffset);
    }
    if header.has_extended_l2() {
        let bitmap = be64(bytes, 8);
        let (allocated, zero) = (bitmap as u32, (bitmap >> 32) as u32);
        return Ok(Cluster::Split { host, allocated, zero });
    }
    if entry & ZERO != 0 {
        return if header.version < 3 { Err(Damage::ZeroInVersion2) } else { Ok(Cluster::Whole(Content::Zero, host)) };
    }
    Ok(Cluster::Whole(if host.is_some() { Content::Data } else { Content::Unallocated }, host))
}

/// What subcluster number `index` holds.
pub(super) fn subcluster(index: u64, host: Option<HostOffset>, allocated: u32, zero: u32) -> Result<Content, Damage> {
    match (allocated >> index & 1 == 1, zero >> index & 1 == 1) {
        (true, true) => Err(Damage::SubclusterConflict),
        (true, false) if host.is_none() => Err(Damage::SubclusterNowhere),
        (true, false) => Ok(Content::Data),
        (false, true) => Ok(Content::Zero),
        (false, false) => Ok(Content::Unallocated),
    }
}

/// A compressed cluster's descriptor (specification: "Compressed Clusters Descriptor"): the offset
/// in the low bits, above it the number of sectors besides the first one.
fn compressed(header: &Header, entry: u64) -> Cluster {
    let sector_bits = header.cluster_bits - 8;
    let offset_bits = 62 - sector_bits;
    let host = HostOffset(entry & ((1 << offset_bits) - 1));
    let sectors = ((entry >> offset_bits) & ((1 << sector_bits) - 1)) + 1;
    Cluster::Compressed { host, host_len: sectors * SECTOR - host.0 % SECTOR }
}
