//! Parses L1 and L2 entries (specification: "Cluster mapping").

use super::structures::{COMPRESSED, COPIED, ENTRY_OFFSET, Qcow2Header, ZERO_CLUSTER, compressed_offset_bits};
use super::{
    CLUSTER_UNALIGNED, DATA_FILE_COMPRESSED, DATA_FILE_OFFSET, L2_UNALIGNED, SUBCLUSTER_CONFLICT, SUBCLUSTER_NOWHERE,
    ZERO_IN_VERSION_2,
};
use crate::error::damage::Damage;
use crate::offsets::{GuestOffset, HostOffset, SECTOR, be64};

/// Returns the host offset of an L1 entry's L2 table; `None` if there is no table.
pub(super) fn l2_table(header: &Qcow2Header, entry: u64) -> Result<Option<HostOffset>, Damage> {
    let offset = entry & ENTRY_OFFSET;
    if !header.is_aligned(offset) {
        return Err(L2_UNALIGNED);
    }
    Ok((offset != 0).then_some(HostOffset(offset)))
}

/// The cluster described by an L2 entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cluster {
    /// A cluster with uniform content.
    Whole(ClusterContent, Option<HostOffset>),
    /// A cluster with a content per subcluster: one bit each for "allocated" and "zero".
    Split { host: Option<HostOffset>, allocated: u32, zero: u32 },
    /// A compressed cluster, at most `host_len` bytes at `host`.
    Compressed { host: HostOffset, host_len: u64 },
}

/// The content of a cluster or subcluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClusterContent {
    Unallocated,
    Zero,
    Data,
}

/// Parses the L2 entry at the start of `bytes`. `guest` is the guest offset of its cluster.
pub(super) fn cluster(header: &Qcow2Header, bytes: &[u8], guest: GuestOffset) -> Result<Cluster, Damage> {
    let entry = be64(bytes, 0);
    if entry & COMPRESSED != 0 {
        return if header.has_data_file() { Err(DATA_FILE_COMPRESSED) } else { Ok(compressed(header, entry)) };
    }
    let offset = entry & ENTRY_OFFSET;
    if !header.is_aligned(offset) {
        return Err(CLUSTER_UNALIGNED);
    }
    let host = (offset != 0 || (header.has_data_file() && entry & COPIED != 0)).then_some(HostOffset(offset));
    if header.has_data_file() && host.is_some_and(|host| host.0 != guest.0) {
        return Err(DATA_FILE_OFFSET);
    }
    if header.has_extended_l2() {
        let bitmap = be64(bytes, 8);
        let (allocated, zero) = (bitmap as u32, (bitmap >> 32) as u32);
        return Ok(Cluster::Split { host, allocated, zero });
    }
    if entry & ZERO_CLUSTER != 0 {
        return if header.version < 3 {
            Err(ZERO_IN_VERSION_2)
        } else {
            Ok(Cluster::Whole(ClusterContent::Zero, host))
        };
    }
    Ok(Cluster::Whole(if host.is_some() { ClusterContent::Data } else { ClusterContent::Unallocated }, host))
}

/// Returns the content of subcluster `index`.
pub(super) fn subcluster(
    index: u64,
    host: Option<HostOffset>,
    allocated: u32,
    zero: u32,
) -> Result<ClusterContent, Damage> {
    match (allocated >> index & 1 == 1, zero >> index & 1 == 1) {
        (true, true) => Err(SUBCLUSTER_CONFLICT),
        (true, false) if host.is_none() => Err(SUBCLUSTER_NOWHERE),
        (true, false) => Ok(ClusterContent::Data),
        (false, true) => Ok(ClusterContent::Zero),
        (false, false) => Ok(ClusterContent::Unallocated),
    }
}

/// Parses the entry of a compressed cluster: see [`compressed_offset_bits`].
pub(super) fn compressed(header: &Qcow2Header, entry: u64) -> Cluster {
    let offset_bits = compressed_offset_bits(header.cluster_bits);
    let host = HostOffset(entry & ((1 << offset_bits) - 1));
    let sectors = ((entry & (COMPRESSED - 1)) >> offset_bits) + 1;
    Cluster::Compressed { host, host_len: sectors * SECTOR - host.0 % SECTOR }
}
