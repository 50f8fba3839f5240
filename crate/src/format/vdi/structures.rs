//! The structures of a VDI, for the reader and for the output, in the names of VirtualBox's `VDICore.h`.

use crate::structure::structure;

/// The text before the signature, as VirtualBox writes it.
pub(crate) const TEXT: [u8; 40] = *b"<<< Oracle VM VirtualBox Disk Image >>>\n";
/// Offset of the signature, in bytes. Text precedes it.
pub(crate) const SIGNATURE_AT: usize = PreHeader::signature as usize;
/// 0xbeda107f.
pub(crate) const SIGNATURE: [u8; 4] = [0x7f, 0x10, 0xda, 0xbe];
/// The end of the last field that is read, in bytes. The field is from version 1.1.
pub(crate) const MAX_FIXED: u64 = Header1::LEN as u64;

pub(crate) const VERSION_0: u32 = 2;
pub(crate) const VERSION_1_1: u32 = 0x0001_0001;
/// In version 1.1: the minimum value of `cb_header`, which counts from that field.
pub(crate) const V1_HEADER_SIZE: u32 = 384;

/// The size of an entry of the block map, in bytes.
pub(crate) const ENTRY_SIZE: u64 = 4;
/// The block is not allocated: it reads from the parent, or as zeros.
pub(crate) const FREE: u32 = 0xffff_ffff;
/// The block reads as zeros, regardless of the parent.
pub(crate) const ZERO: u32 = 0xffff_fffe;

/// Image types. 1 and 2 contain the whole disk, 3 and 4 differences from another image.
pub(crate) const TYPES: std::ops::RangeInclusive<u32> = DYNAMIC..=4;
pub(crate) const DYNAMIC: u32 = 1;
pub(crate) const FIXED: u32 = 2;
pub(crate) const UNDO: u32 = 3;
/// The flags known to VirtualBox: "expand zero blocks", and internal ones that repeat the type.
pub(crate) const FLAGS: u32 = 0x301;

structure! {
    /// `VDIPREHEADER`.
    pub(crate) struct PreHeader: Little {
        text: [u8; 40] = 0,
        signature: [u8; 4] = 64,
        version: u32 = 68,
    }
}

structure! {
    /// `VDIHEADER0`. The block map follows it, and the blocks follow the map.
    pub(crate) struct Header0: Little {
        u32_type: u32 = 72,
        f_flags: u32 = 76,
        cb_disk: u64 = 352,
        cb_block: u32 = 360,
        c_blocks: u32 = 364,
        uuid_create: [u8; 16] = 372,
        uuid_modify: [u8; 16] = 388,
        uuid_linkage: [u8; 16] = 404,
    }
}

structure! {
    /// `VDIHEADER1`, without the comment, and with nothing of "LegacyGeometry" but the size of its sectors.
    pub(crate) struct Header1: Little {
        cb_header: u32 = 72,
        u32_type: u32 = 76,
        f_flags: u32 = 80,
        off_blocks: u32 = 340,
        off_data: u32 = 344,
        legacy_cb_sector: u32 = 360,
        cb_disk: u64 = 368,
        cb_block: u32 = 376,
        cb_block_extra: u32 = 380,
        c_blocks: u32 = 384,
        c_blocks_allocated: u32 = 388,
        uuid_create: [u8; 16] = 392,
        uuid_modify: [u8; 16] = 408,
        uuid_linkage: [u8; 16] = 424,
        uuid_parent_modify: [u8; 16] = 440,
    }
}

structure! {
    /// The field that `VDIHEADER1PLUS` adds: the end of "LCHSGeometry".
    pub(crate) struct Header1Plus: Little {
        lchs_cb_sector: u32 = 468,
    }
}
