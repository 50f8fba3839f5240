//! The footer of every VHD ("Hard Disk Footer Format"). A dynamic or differencing VHD begins with a copy of it.

use crate::offsets::SECTOR;
use crate::structure::structure;

pub(crate) const COOKIE: [u8; 8] = *b"conectix";
/// Values of `disk_type`.
pub(crate) const FIXED: u32 = 2;
pub(crate) const DYNAMIC: u32 = 3;
pub(crate) const DIFFERENCING: u32 = 4;
/// Programs that take the size of the disk from its geometry: Virtual PC, and QEMU unless `force_size` is set.
const SIZED_BY_GEOMETRY: [[u8; 4]; 2] = [*b"vpc ", *b"qemu"];
/// The largest geometry. It states nothing about the size of a larger disk.
const LARGEST: (u16, u8, u8) = (65_535, 16, 255);

structure! {
    /// "Hard Disk Footer Format".
    pub(crate) struct VhdFooter: Big {
        cookie: [u8; 8] = 0,
        features: u32 = 8,
        file_format_version: u32 = 12,
        data_offset: u64 = 16,
        time_stamp: u32 = 24,
        creator_application: [u8; 4] = 28,
        creator_version: u32 = 32,
        creator_host_os: [u8; 4] = 36,
        original_size: u64 = 40,
        current_size: u64 = 48,
        cylinders: u16 = 56,
        heads: u8 = 58,
        sectors: u8 = 59,
        disk_type: u32 = 60,
        checksum: u32 = 64,
        unique_id: [u8; 16] = 68,
        saved_state: u8 = 84,
        reserved: [u8; 427] = 85,
    }
}

impl VhdFooter {
    /// Whether `bytes`, which may end early, have the checksum that they state. Old programs wrote one byte less.
    pub(super) fn is_intact(bytes: &[u8]) -> bool {
        let mut whole = Self::parse_start(bytes);
        let stated = std::mem::take(&mut whole.checksum);
        whole.cookie == COOKIE && checksum(&whole.to_bytes()) == stated
    }

    /// The size of the geometry ("Disk Geometry"), in bytes; `None` if the disk may be larger than any geometry.
    pub(super) fn geometry_size(&self) -> Option<u64> {
        let (cylinders, heads, sectors) = (self.cylinders, self.heads, self.sectors);
        let size = u64::from(cylinders) * u64::from(heads) * u64::from(sectors) * SECTOR;
        (size > 0 && (cylinders, heads, sectors) != LARGEST).then_some(size)
    }

    /// The size that the program that made the VHD gives to the disk, in bytes: that of the geometry, or the stated one.
    pub(super) fn wanted_size(&self) -> u64 {
        let geometry = self.geometry_size().filter(|_| SIZED_BY_GEOMETRY.contains(&self.creator_application));
        geometry.unwrap_or(self.current_size)
    }
}

/// The checksum of a structure whose checksum is zero: the ones' complement of the sum of its bytes.
pub(crate) fn checksum(structure: &[u8]) -> u32 {
    !structure.iter().map(|&byte| u32::from(byte)).sum::<u32>()
}
