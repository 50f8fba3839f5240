//! The sizes of sectors.

use crate::offsets::SECTOR;

/// The sizes of the sectors of a disk, in bytes, as a guest sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorSizes {
    /// The size of the sectors that a guest addresses, also in its partition table.
    pub logical: u64,
    /// The size of the sectors that the disk writes at once.
    pub physical: u64,
}

impl SectorSizes {
    /// Sectors of one size.
    pub const fn of(size: u64) -> Self {
        Self { logical: size, physical: size }
    }
}

impl Default for SectorSizes {
    fn default() -> Self {
        Self::of(SECTOR)
    }
}
