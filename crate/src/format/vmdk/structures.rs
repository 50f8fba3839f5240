//! The structures of sparse extents, for reading and writing. Sizes and offsets in headers are in sectors.

use crate::offsets::SECTOR;
use crate::structure::structure;

// "KDMV": Virtual Disk Format 5.0, "Hosted Sparse Extents" and "Stream-Optimized Compressed Sparse Extents".

pub(crate) const KDMV_MAGIC: [u8; 4] = *b"KDMV";

/// Bits of `flags`.
pub(crate) const HAS_LINE_ENDS: u32 = 1;
pub(crate) const HAS_REDUNDANT: u32 = 1 << 1;
pub(crate) const IS_COMPRESSED: u32 = 1 << 16;
pub(crate) const HAS_MARKERS: u32 = 1 << 17;

/// The value of `gd_offset` if the actual one is in the footer.
pub(crate) const IN_FOOTER: u64 = u64::MAX;
/// The value of `end_line_chars`: bytes that a transfer in text mode changes.
pub(crate) const LINE_ENDS: [u8; 4] = *b"\n \r\n";
/// The value of `compress_algorithm` for deflate.
pub(crate) const DEFLATE: u16 = 1;
/// Types of markers, by what follows.
pub(crate) const GRAIN_TABLE: u32 = 1;
pub(crate) const GRAIN_DIRECTORY: u32 = 2;
pub(crate) const FOOTER: u32 = 3;

/// Size of an entry of the grain directory, and of a grain table, in bytes: a sector, little endian.
pub(crate) const ENTRY: u64 = 4;
/// The entry of a zero grain. Sector 1 contains a header or descriptor, never a grain.
pub(crate) const ZERO_GRAIN: u64 = 1;

structure! {
    /// `SparseExtentHeader`.
    pub(crate) struct KdmvHeader: Little {
        magic_number: [u8; 4] = 0,
        version: u32 = 4,
        flags: u32 = 8,
        /// 0 if the file contains only a descriptor.
        capacity: u64 = 12,
        grain_size: u64 = 20,
        /// 0 if there is no descriptor.
        descriptor_offset: u64 = 28,
        descriptor_size: u64 = 36,
        num_gtes_per_gt: u32 = 44,
        rgd_offset: u64 = 48,
        /// The grain directory.
        gd_offset: u64 = 56,
        /// The offset of the first grain, table or marker.
        over_head: u64 = 64,
        unclean_shutdown: u8 = 72,
        /// `singleEndLineChar` to `doubleEndLineChar2`.
        end_line_chars: [u8; 4] = 73,
        compress_algorithm: u16 = 77,
    }
}

structure! {
    /// A marker, at the start of a sector.
    pub(crate) struct Marker: Little {
        /// Before a grain: its first sector in the extent. Otherwise: the length of the structure after the marker, in
        /// sectors.
        val: u64 = 0,
        /// Before a grain: the length of its compressed data, in bytes. Otherwise 0.
        size: u32 = 8,
        /// The type of the structure after the marker. Before a grain, compressed data begins here.
        marker_type: u32 = 12,
    }
}

impl Marker {
    /// Makes the marker of `marker_type`, before a structure of `sectors` sectors, in its sector.
    pub(crate) fn sector(marker_type: u32, sectors: u64) -> Vec<u8> {
        in_sector(&Self { val: sectors, size: 0, marker_type }.to_bytes())
    }
}

/// Pads a structure to a sector.
pub(crate) fn in_sector(structure: &[u8]) -> Vec<u8> {
    let mut sector = structure.to_vec();
    sector.resize(SECTOR as usize, 0);
    sector
}

// "COWD", the redo logs of ESX: Virtual Disk Format 5.0, "ESX Server Sparse Extents". Entries are as in "KDMV".

pub(crate) const COWD_MAGIC: [u8; 4] = *b"COWD";
pub(crate) const COWD_VERSION: u32 = 1;
/// Length of the header, in sectors.
pub(crate) const COWD_HEADER: u64 = 4;
/// Entries of a grain table.
pub(crate) const COWD_TABLE_ENTRIES: u64 = 4096;

structure! {
    /// `COWDisk_Header`.
    pub(crate) struct CowdHeader: Little {
        magic_number: [u8; 4] = 0,
        version: u32 = 4,
        num_sectors: u32 = 12,
        grain_size: u32 = 16,
        gd_offset: u32 = 20,
        num_gd_entries: u32 = 24,
    }
}

// SESparse: QEMU's `block/vmdk.c` is the only description of the format.

pub(crate) const SESPARSE_MAGIC: [u8; 8] = 0xcafe_babe_u64.to_le_bytes();
pub(crate) const SESPARSE_VOLATILE_MAGIC: u64 = 0xcafe_cafe;
pub(crate) const SESPARSE_VERSION: u64 = 0x2_0000_0001;
/// The only sizes of grains and of grain tables, in sectors.
pub(crate) const SESPARSE_GRAIN: u64 = 8;
pub(crate) const SESPARSE_TABLE: u64 = 64;
/// Size of an entry, in bytes.
pub(crate) const SESPARSE_ENTRY: u64 = 8;
/// The upper half of a directory entry with a table.
pub(crate) const SESPARSE_IS_TABLE: u64 = 0x1000_0000;
/// The highest 4 bits of a table entry are its type.
pub(crate) const SESPARSE_TYPE_SHIFT: u32 = 60;
pub(crate) const SESPARSE_UNMAPPED: u64 = 1;
pub(crate) const SESPARSE_ZERO: u64 = 2;
pub(crate) const SESPARSE_ALLOCATED: u64 = 3;

structure! {
    /// `VMDKSESparseConstHeader`.
    pub(crate) struct SeSparseConstHeader: Little {
        magic: [u8; 8] = 0,
        version: u64 = 8,
        capacity: u64 = 16,
        grain_size: u64 = 24,
        grain_table_size: u64 = 32,
        flags: u64 = 40,
        volatile_header_offset: u64 = 80,
        grain_dir_offset: u64 = 128,
        grain_dir_size: u64 = 136,
        grain_tables_offset: u64 = 144,
        grains_offset: u64 = 192,
    }
}

structure! {
    /// `VMDKSESparseVolatileHeader`.
    pub(crate) struct SeSparseVolatileHeader: Little {
        magic: u64 = 0,
        replay_journal: u64 = 24,
    }
}
