//! The header of "COWD" sparse extents, the redo logs of ESX (Virtual Disk Format 5.0, "ESX Server Sparse Extents").

use super::entries::Layout;
use super::sparse::{Sparse, position, size};
use crate::error::{Error, Result};
use crate::offsets::{HostOffset, SECTOR, le32};

pub(super) const MAGIC: [u8; 4] = *b"COWD";
/// Entries of a grain table.
const TABLE_ENTRIES: u64 = 4096;

/// Parses the header at the start of `head`. Fails with `unsupported`, `corrupt` or `limit`.
pub(super) fn parse(head: &[u8]) -> Result<Sparse> {
    if (head.len() as u64) < SECTOR {
        return Err(Error::truncated("the end of the header", HostOffset(SECTOR), head.len() as u64));
    }
    let version = le32(head, 4);
    if version != 1 {
        return Err(Error::unknown_version(version, "COWD extents"));
    }
    let sparse = Sparse {
        layout: Layout::Cowd,
        version,
        capacity: size(le32(head, 12).into())?,
        grain: u64::from(le32(head, 16)) * SECTOR,
        table_entries: TABLE_ENTRIES,
        directory: position(le32(head, 20).into(), "the grain directory", 20)?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    }
    .check()?;
    if u64::from(le32(head, 24)) < sparse.shape().directory_entries() {
        return Err(Error::corrupt("its grain directory is too small for its disk", HostOffset(24)));
    }
    Ok(sparse)
}
