//! The structures of VHD ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006), for reading and writing.

use crate::offsets::SECTOR;
use crate::structure::structure;

// "Hard Disk Footer Format". Every VHD ends with a footer, and a dynamic or differencing one begins with a copy of it.

pub(crate) const FOOTER_COOKIE: [u8; 8] = *b"conectix";
/// The high half of `file_format_version`. Versions of the format differ in the low half.
pub(crate) const MAJOR_VERSION: u32 = 1;
/// The value of `data_offset` if no structure follows: in the footer of a fixed disk, and in every dynamic header.
pub(crate) const NO_STRUCTURE: u64 = u64::MAX;
/// Values of `disk_type`.
pub(crate) const FIXED: u32 = 2;
pub(crate) const DYNAMIC: u32 = 3;
pub(crate) const DIFFERENCING: u32 = 4;
/// Programs that take the size of the disk from its geometry: Virtual PC, and QEMU unless `force_size` is set.
const SIZED_BY_GEOMETRY: [[u8; 4]; 2] = [*b"vpc ", *b"qemu"];

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
    /// Whether the checksum of `bytes` is right. Old programs wrote one byte less; missing bytes count as 0.
    pub(crate) fn is_intact(bytes: &[u8]) -> bool {
        let mut whole = Self::parse_start(bytes);
        let stated = std::mem::take(&mut whole.checksum);
        whole.cookie == FOOTER_COOKIE && checksum(&whole.to_bytes()) == stated
    }

    /// The size of the geometry ("Disk Geometry"), in bytes; `None` if the disk may be larger than any geometry.
    pub(crate) fn geometry_size(&self) -> Option<u64> {
        let (cylinders, heads, sectors) = (self.cylinders, self.heads, self.sectors);
        let size = u64::from(cylinders) * u64::from(heads) * u64::from(sectors) * SECTOR;
        (size > 0 && (cylinders, heads, sectors) != LARGEST_GEOMETRY).then_some(size)
    }

    /// The size that the program that made the VHD gives to the disk, in bytes: that of the geometry, or the stated one.
    pub(crate) fn wanted_size(&self) -> u64 {
        let geometry = self.geometry_size().filter(|_| SIZED_BY_GEOMETRY.contains(&self.creator_application));
        geometry.unwrap_or(self.current_size)
    }

    /// The size of a fixed disk with `present` bytes before its footer. These may be the larger of two sizes: then no byte is dropped.
    pub(super) fn fixed_size(&self, present: u64) -> u64 {
        let (stated, wanted) = (self.current_size, self.wanted_size());
        if wanted <= present { wanted.max(stated.min(present)) } else { stated }
    }

    /// Makes the footer of a disk of `disk_size` bytes. `data_offset` is the offset of the next structure, or [`NO_STRUCTURE`].
    pub(crate) fn new(disk_type: u32, data_offset: u64, disk_size: u64, unique_id: [u8; 16]) -> Self {
        let ChsGeometry { cylinders, heads, sectors } = ChsGeometry::of(disk_size / SECTOR);
        let mut footer = Self {
            cookie: FOOTER_COOKIE,
            // The reserved bit, which must be set, and no feature.
            features: 2,
            file_format_version: MAJOR_VERSION << 16,
            data_offset,
            // 2000-01-01. XenServer refuses a VHD from the future, which the present is where a clock is wrong.
            time_stamp: 0,
            // Windows as the creator: readers then take the size of the disk from the current size, not from the geometry.
            creator_application: *b"win ",
            creator_version: 0x000a_0000,
            creator_host_os: *b"Wi2k",
            original_size: disk_size,
            current_size: disk_size,
            cylinders,
            heads,
            sectors,
            disk_type,
            unique_id,
            ..Self::zero()
        };
        footer.checksum = checksum(&footer.to_bytes());
        footer
    }
}

/// The checksum of a structure whose checksum is zero: the ones' complement of the sum of its bytes.
pub(crate) fn checksum(structure: &[u8]) -> u32 {
    !structure.iter().map(|&byte| u32::from(byte)).sum::<u32>()
}

/// The largest geometry. It states nothing about the size of a larger disk.
const LARGEST_GEOMETRY: (u16, u8, u8) = (65_535, 16, 255);

/// The CHS geometry of a disk.
#[derive(Debug, PartialEq, Eq)]
struct ChsGeometry {
    cylinders: u16,
    heads: u8,
    sectors: u8,
}

impl ChsGeometry {
    /// "CHS Calculation": the largest geometry of at most `total` sectors by the rules of the specification.
    fn of(total: u64) -> Self {
        let total = total.min(65_535 * 16 * 255);
        let (mut sectors, mut heads, mut tracks);
        if total >= 65_535 * 16 * 63 {
            (sectors, heads, tracks) = (255, 16, total / 255);
        } else {
            (sectors, tracks) = (17, total / 17);
            heads = tracks.div_ceil(1024).max(4);
            if tracks >= heads * 1024 || heads > 16 {
                (sectors, heads, tracks) = (31, 16, total / 31);
            }
            if tracks >= heads * 1024 {
                (sectors, heads, tracks) = (63, 16, total / 63);
            }
        }
        // The rules above limit them to 65,535, 16 and 255.
        Self { cylinders: (tracks / heads) as u16, heads: heads as u8, sectors: sectors as u8 }
    }
}

// "Dynamic Disk Header Format".

pub(crate) const HEADER_COOKIE: [u8; 8] = *b"cxsparse";
pub(crate) const HEADER_VERSION: u32 = 0x0001_0000;
/// Number of parent locators.
const LOCATORS: usize = 8;

structure! {
    /// "Dynamic Disk Header Format".
    pub(crate) struct DynamicVhdHeader: Big {
        cookie: [u8; 8] = 0,
        data_offset: u64 = 8,
        table_offset: u64 = 16,
        header_version: u32 = 24,
        max_table_entries: u32 = 28,
        block_size: u32 = 32,
        checksum: u32 = 36,
        parent_unique_id: [u8; 16] = 40,
        parent_time_stamp: u32 = 56,
        parent_unicode_name: [u8; 512] = 64,
        parent_locator_entries: [u8; LOCATORS * ParentLocator::LEN] = 576,
        reserved: [u8; 256] = 768,
    }
}

structure! {
    /// "Parent Locator Entry". Programs differ in the unit of `platform_data_space`, which is not read.
    pub(crate) struct ParentLocator: Big {
        platform_code: [u8; 4] = 0,
        platform_data_space: u32 = 4,
        platform_data_length: u32 = 8,
        reserved: u32 = 12,
        platform_data_offset: u64 = 16,
    }
}

impl DynamicVhdHeader {
    /// Makes the header of a disk in `entries` blocks of `block_size` bytes, without a parent.
    pub(crate) fn without_parent(table_offset: u64, entries: u32, block_size: u32) -> Self {
        let mut header = Self {
            cookie: HEADER_COOKIE,
            data_offset: NO_STRUCTURE,
            table_offset,
            header_version: HEADER_VERSION,
            max_table_entries: entries,
            block_size,
            ..Self::zero()
        };
        header.checksum = checksum(&header.to_bytes());
        header
    }
}

// "Block Allocation Table and Data Blocks". The table (BAT) has the sector of each block, big endian. A block is a bitmap of its
// sectors, followed by the sectors.

/// The size of an entry of the BAT, in bytes.
pub(crate) const BAT_ENTRY: u64 = 4;
/// The entry of a block that is not in the file.
pub(crate) const ABSENT: u32 = u32::MAX;

/// The length of the sector bitmap of a block of `block_size` bytes: a bit for each sector, in whole sectors.
pub(crate) const fn bitmap_len(block_size: u64) -> u64 {
    (block_size / (8 * SECTOR)).next_multiple_of(SECTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometries_are_those_of_the_specification() {
        // (total sectors, cylinders, heads, sectors per track): computed by the specification, on both sides of each
        // bound
        let cases = [
            (0, 0, 4, 17),
            (2048, 30, 4, 17),
            (4 * 1024 * 17 - 1, 1023, 4, 17),
            (4 * 1024 * 17, 140, 16, 31),
            (4 * 1024 * 17 + 17, 819, 5, 17),
            (16 * 1024 * 17 - 17, 1023, 16, 17),
            (16 * 1024 * 17, 561, 16, 31),
            (16 * 1024 * 31, 503, 16, 63),
            (65_535 * 16 * 63 - 1, 65_534, 16, 63),
            (65_535 * 16 * 63, 16_191, 16, 255),
            (65_535 * 16 * 255, 65_535, 16, 255),
            (1 << 32, 65_535, 16, 255),
        ];
        for (total, cylinders, heads, sectors) in cases {
            assert_eq!(ChsGeometry::of(total), ChsGeometry { cylinders, heads, sectors }, "{total} sectors");
        }
    }
}
