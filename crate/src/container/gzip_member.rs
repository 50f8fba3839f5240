//! The structures of a gzip member (RFC 1952).

use crate::structure::structure;

pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
pub(super) const DEFLATE: u8 = 8;

structure! {
    /// The fixed start of a member (RFC 1952, section 2.3).
    pub(super) struct GzipHeader: Little {
        id: [u8; 2] = 0,
        cm: u8 = 2,
        flg: u8 = 3,
        mtime: u32 = 4,
        xfl: u8 = 8,
        os: u8 = 9,
    }
}

structure! {
    /// The end of a member (RFC 1952, section 2.3).
    pub(super) struct GzipTrailer: Little {
        crc32: u32 = 0,
        /// The size of the data, modulo 2^32.
        isize: u32 = 4,
    }
}

/// Header flags that no member has (RFC 1952, section 2.3.1).
pub(super) const RESERVED: u8 = 0xe0;
