//! Entries of the L1 and L2 tables (specification: "Cluster mapping").

use super::header::Header;
use crate::error::{Error, Result};
use crate::extent::ExtentKind;
use crate::units::{ByteRange, HostOffset};

/// Bits 9 to 55 of an entry: where a table or a cluster lies. The bits around them hold flags or
/// are reserved, and readers ignore them.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// The cluster is compressed.
const COMPRESSED: u64 = 1 << 62;
/// The cluster reads as zeros, whatever lies at its offset (version 3).
const ZERO: u64 = 1;
/// The unit in which the length of compressed data is given, in bytes.
const SECTOR: u64 = 512;

/// Where the L2 table of an L1 entry lies; `None` where there is none. `at` is the entry's place.
pub(super) fn l2_table(header: &Header, entry: u64, at: HostOffset) -> Result<Option<HostOffset>> {
    let offset = entry & OFFSET;
    if !header.is_aligned(offset) {
        return Err(Error::corrupt("an L2 table is not aligned to a cluster", at));
    }
    Ok((offset != 0).then_some(HostOffset(offset)))
}

/// What a cluster is. `at` is the place of its L2 entry.
pub(super) fn cluster(header: &Header, entry: u64, at: HostOffset) -> Result<ExtentKind> {
    if entry & COMPRESSED != 0 {
        return compressed(header, entry);
    }
    let offset = entry & OFFSET;
    if !header.is_aligned(offset) {
        return Err(Error::corrupt("a data cluster is not aligned to a cluster", at));
    }
    let host = (offset != 0).then_some(HostOffset(offset));
    if entry & ZERO != 0 {
        if header.version < 3 {
            return Err(Error::corrupt("a version 2 image has a zero cluster", at));
        }
        return Ok(ExtentKind::Zero { host });
    }
    Ok(host.map_or(ExtentKind::Unallocated, |host| ExtentKind::Data { host }))
}

/// A compressed cluster's descriptor (specification: "Compressed Clusters Descriptor"): the offset
/// in the low bits, above it the number of sectors besides the first one.
fn compressed(header: &Header, entry: u64) -> Result<ExtentKind> {
    let sector_bits = header.cluster_bits - 8;
    let offset_bits = 62 - sector_bits;
    let host = HostOffset(entry & ((1 << offset_bits) - 1));
    let sectors = ((entry >> offset_bits) & ((1 << sector_bits) - 1)) + 1;
    let range = ByteRange::new(host, sectors * SECTOR - host.0 % SECTOR, "compressed cluster")?;
    Ok(ExtentKind::Compressed { host, host_len: range.len, cluster: header.cluster_size() })
}
