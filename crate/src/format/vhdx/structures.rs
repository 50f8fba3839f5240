//! The structures of a VHDX (MS-VHDX 2) but for the log, for the reader and for the output.

use super::guid::{Guid, guid};
use crate::format::sector_runs::SECTORS;
use crate::offsets::HostOffset;
use crate::structure::structure;
use decant_codec::crc::crc32c;

/// "vhdxfile", at the start of the file.
pub(crate) const SIGNATURE: [u8; 8] = *b"vhdxfile";
/// Alignment of regions, the log and blocks, and length of the header section, in bytes.
pub(crate) const MIB: u64 = 1 << 20;

/// Offsets and size of the headers.
pub(crate) const HEADERS: [u64; 2] = [64 << 10, 128 << 10];
pub(crate) const HEADER_SIZE: u64 = 4 << 10;
pub(crate) const HEADER_SIGNATURE: [u8; 4] = *b"head";
pub(crate) const VERSION: u16 = 1;
pub(crate) const LOG_VERSION: u16 = 0;

/// Offsets and size of the region tables. Unlike the headers, they and all later structures may be changed by the log.
pub(crate) const REGION_TABLES: [u64; 2] = [192 << 10, 256 << 10];
pub(crate) const REGION_TABLE_SIZE: u64 = 64 << 10;
pub(crate) const REGION_SIGNATURE: [u8; 4] = *b"regi";
pub(crate) const BAT: Guid = guid(0x2dc2_7766_f623_4200_9d64_115e_9bfd_4a08);
pub(crate) const METADATA: Guid = guid(0x8b7c_a206_4790_4b9a_b8fe_575f_050f_886e);
pub(crate) const REGION_REQUIRED: u32 = 1;

structure! {
    /// "Headers" (2.2.2).
    pub(crate) struct VhdxHeader: Little {
        signature: [u8; 4] = 0,
        checksum: u32 = 4,
        sequence_number: u64 = 8,
        file_write_guid: Guid = 16,
        data_write_guid: Guid = 32,
        log_guid: Guid = 48,
        log_version: u16 = 64,
        version: u16 = 66,
        log_length: u32 = 68,
        log_offset: u64 = 72,
    }
}

structure! {
    /// "Region Table Header" (2.2.3.1).
    pub(crate) struct RegionTableHeader: Little {
        signature: [u8; 4] = 0,
        checksum: u32 = 4,
        entry_count: u32 = 8,
        reserved: u32 = 12,
    }
}

structure! {
    /// "Region Table Entry" (2.2.3.2).
    pub(crate) struct RegionTableEntry: Little {
        guid: Guid = 0,
        file_offset: u64 = 16,
        length: u32 = 24,
        required: u32 = 28,
    }
}

/// The checksum of `bytes`, which begin with a signature and a checksum: their CRC-32C with zeros as the checksum.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc32c(crc32c(crc32c(0, &bytes[..4]), &[0; 4]), &bytes[8..])
}

pub(crate) const METADATA_SIGNATURE: [u8; 8] = *b"metadata";
/// The size of the metadata table. The items follow it in the region.
pub(crate) const METADATA_TABLE_SIZE: u64 = 64 << 10;
/// Flags of metadata items: whether the item describes the virtual disk, not the file, and whether a reader must know it.
pub(crate) const IS_VIRTUAL_DISK: u32 = 2;
pub(crate) const ITEM_REQUIRED: u32 = 4;

pub(crate) const FILE_PARAMETERS: Guid = guid(0xcaa1_6737_fa36_4d43_b3b6_33f0_aa44_e76b);
pub(crate) const VIRTUAL_SIZE: Guid = guid(0x2fa5_4224_cd1b_4876_b211_5dbe_d83b_f4b8);
pub(crate) const DISK_ID: Guid = guid(0xbeca_12ab_b2e6_4523_93ef_c309_e000_c746);
pub(crate) const LOGICAL_SECTOR_SIZE: Guid = guid(0x8141_bf1d_a96f_4709_ba47_f233_a8fa_ab5f);
pub(crate) const PHYSICAL_SECTOR_SIZE: Guid = guid(0xcda3_48c7_445d_4471_9cc9_e988_5251_c556);
pub(crate) const PARENT_LOCATOR: Guid = guid(0xa8d3_5f2d_b30b_454d_abf7_d3d8_4834_ab0c);

/// Bits of the file parameters.
pub(crate) const LEAVE_BLOCKS_ALLOCATED: u32 = 1;
pub(crate) const HAS_PARENT: u32 = 2;
/// Largest sizes of a block and of a disk, in bytes.
pub(crate) const LARGEST_BLOCK: u64 = 256 * MIB;
pub(crate) const LARGEST_DISK: u64 = 64 << 40;
/// A sector has 512 bytes or this many.
pub(crate) const LARGEST_SECTOR: u32 = 4096;

structure! {
    /// "Metadata Table Header" (2.6.1.1).
    pub(crate) struct MetadataTableHeader: Little {
        signature: [u8; 8] = 0,
        entry_count: u16 = 10,
        reserved: [u8; 20] = 12,
    }
}

structure! {
    /// "Metadata Table Entry" (2.6.1.2).
    pub(crate) struct MetadataTableEntry: Little {
        item_id: Guid = 0,
        offset: u32 = 16,
        length: u32 = 20,
        flags: u32 = 24,
        reserved: u32 = 28,
    }
}

/// The size of an entry of the block allocation table (BAT), in bytes.
pub(crate) const ENTRY_SIZE: u64 = 8;
/// Length of a sector bitmap, in bytes.
pub(crate) const BITMAP_LEN: u64 = MIB;

/// The bits of an entry: its state, and the offset in the file, which is a multiple of 1 MiB.
pub(crate) const STATE: u64 = 7;
pub(crate) const OFFSET: u64 = !(MIB - 1);
/// States of blocks (2.5.1.1). The state of a sector bitmap that is in the file is `FULLY_PRESENT`, too.
pub(crate) const NOT_PRESENT: u64 = 0;
pub(crate) const UNDEFINED: u64 = 1;
pub(crate) const ZERO: u64 = 2;
pub(crate) const UNMAPPED: u64 = 3;
/// `UNMAPPED` in drafts of the specification.
pub(crate) const UNMAPPED_IN_DRAFTS: u64 = 5;
pub(crate) const FULLY_PRESENT: u64 = 6;
pub(crate) const PARTIALLY_PRESENT: u64 = 7;

/// The BAT of a disk. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTable {
    pub(crate) place: HostOffset,
    pub(crate) block_size: u64,
    pub(crate) sector_size: u64,
    pub(crate) virtual_size: u64,
    /// Whether the disk holds differences from a parent.
    pub(crate) has_parent: bool,
}

impl BlockTable {
    /// The size of the part of the disk with one sector bitmap: a chunk.
    pub(crate) fn chunk_size(&self) -> u64 {
        BITMAP_LEN * SECTORS * self.sector_size
    }

    /// The number of blocks in a chunk, whose entries precede that of its bitmap.
    pub(crate) fn chunk_blocks(&self) -> u64 {
        self.chunk_size() / self.block_size
    }

    /// The index of the entry of `block`.
    pub(crate) fn entry(&self, block: u64) -> u64 {
        block + block / self.chunk_blocks()
    }

    /// The index of the entry of the bitmap of `chunk`.
    pub(crate) fn bitmap_entry(&self, chunk: u64) -> u64 {
        (chunk + 1) * (self.chunk_blocks() + 1) - 1
    }

    /// The number of blocks of the disk.
    pub(crate) fn blocks(&self) -> u64 {
        self.virtual_size.div_ceil(self.block_size)
    }

    /// The number of entries that the disk needs.
    pub(crate) fn entries(&self) -> u64 {
        match self.blocks() {
            0 => 0,
            _ if self.has_parent => self.bitmap_entry((self.virtual_size - 1) / self.chunk_size()) + 1,
            blocks => self.entry(blocks - 1) + 1,
        }
    }

    /// The length of the table that the disk needs, in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.entries() * ENTRY_SIZE
    }
}
