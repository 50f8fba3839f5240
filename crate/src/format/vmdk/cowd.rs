//! The header of "COWD" sparse extents, the redo logs of ESX (Virtual Disk Format 5.0, "ESX Server Sparse Extents").

use super::entries::EntryLayout;
use super::sparse_header::{SparseHeader, position, size};
use crate::error::{Error, Result};
use crate::offsets::{HostOffset, SECTOR};
use crate::structure::structure;

pub(crate) const MAGIC: [u8; 4] = *b"COWD";
/// Entries of a grain table.
const TABLE_ENTRIES: u64 = 4096;

structure! {
    /// `COWDisk_Header`. Sizes and offsets are in sectors.
    struct CowdHeader: Little {
        magic_number: [u8; 4] = 0,
        version: u32 = 4,
        num_sectors: u32 = 12,
        grain_size: u32 = 16,
        gd_offset: u32 = 20,
        num_gd_entries: u32 = 24,
    }
}

/// Parses the header at the start of `head`. Fails with `unsupported`, `corrupt` or `limit`.
pub(super) fn parse(head: &[u8]) -> Result<SparseHeader> {
    if (head.len() as u64) < SECTOR {
        return Err(Error::truncated("the end of the header", HostOffset(SECTOR), head.len() as u64));
    }
    let header = CowdHeader::parse(head);
    if header.version != 1 {
        return Err(Error::unknown_version(header.version, "COWD extents"));
    }
    let sparse = SparseHeader {
        place: HostOffset(0),
        capacity_place: HostOffset(CowdHeader::num_sectors),
        layout: EntryLayout::Cowd,
        version: header.version,
        capacity: size(header.num_sectors.into())?,
        grain: u64::from(header.grain_size) * SECTOR,
        table_entries: TABLE_ENTRIES,
        directory: position(header.gd_offset.into(), "the grain directory", HostOffset(CowdHeader::gd_offset))?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    }
    .check()?;
    if u64::from(header.num_gd_entries) < sparse.shape().directory_entries() {
        let what = "its grain directory is too small for its disk";
        return Err(Error::corrupt(what, HostOffset(CowdHeader::num_gd_entries)));
    }
    Ok(sparse)
}
