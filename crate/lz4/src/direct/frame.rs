//! The headers of frames.

use super::number;
use crate::{LEGACY_MAGIC, MAGIC};
use decant_module::{Fault, SKIPPABLE_HEADER, SKIPPABLE_MAGIC, StreamFeature};
use twox_hash::XxHash32;

/// Length of a magic number, in bytes.
const MAGIC_LEN: usize = 4;

/// Offsets in a header: of its flags, of the size of blocks, and of the optional fields after it.
const FLAGS: usize = 4;
const BLOCK_SIZE: usize = 5;
const FIELDS: usize = 6;

/// Bits of the flags.
const DICTIONARY: u8 = 0x01;
const RESERVED: u8 = 0x02;
const CONTENT_CHECKSUM: u8 = 0x04;
const CONTENT_SIZE: u8 = 0x08;
const BLOCK_CHECKSUMS: u8 = 0x10;
const INDEPENDENT: u8 = 0x20;
const VERSION: u8 = 0xc0;
const VERSION_1: u8 = 0x40;
/// The reserved bits of the byte that states the size of blocks.
const RESERVED_OF_SIZE: u8 = 0x8f;

/// Maximum size of the data of a block of `lz4 -l`, and of the compressed block, in bytes.
const LEGACY_BLOCK: usize = 8 << 20;
const LEGACY_COMPRESSED: usize = LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16;

/// The result of reading the start of a header.
pub(super) enum Header {
    /// The header is longer: this many of its bytes are needed.
    Needs(usize),
    Frame(Frame),
    /// A skippable frame, with the number of bytes after its header.
    Skippable(u32),
}

/// The header of a frame. Sizes are in bytes.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Made by `lz4 -l`: only compressed blocks, and no end mark.
    pub(super) is_legacy: bool,
    /// Whether each block is decoded without those before it.
    pub(super) is_independent: bool,
    /// Maximum size of the data of a block, and of the block in the file.
    pub(super) largest_block: usize,
    pub(super) largest_compressed: usize,
    pub(super) has_block_checksums: bool,
    pub(super) has_content_checksum: bool,
    pub(super) content_size: Option<u64>,
}

const LEGACY: Frame = Frame {
    is_legacy: true,
    is_independent: true,
    largest_block: LEGACY_BLOCK,
    largest_compressed: LEGACY_COMPRESSED,
    has_block_checksums: false,
    has_content_checksum: false,
    content_size: None,
};

impl Header {
    /// Reads a header. Fails if there is none: with `Trailing` if it `is_later` than the first header of the file.
    pub(super) fn read(header: &[u8], is_later: bool) -> Result<Self, Fault> {
        if header.len() < MAGIC_LEN {
            return Ok(Self::Needs(MAGIC_LEN));
        }
        match number(header, 0) {
            MAGIC => Frame::read(header),
            LEGACY_MAGIC => Ok(Self::Frame(LEGACY)),
            magic if SKIPPABLE_MAGIC.contains(&magic) && header.len() < SKIPPABLE_HEADER => {
                Ok(Self::Needs(SKIPPABLE_HEADER))
            }
            magic if SKIPPABLE_MAGIC.contains(&magic) => Ok(Self::Skippable(number(header, MAGIC_LEN))),
            _ if is_later => Err(Fault::Trailing),
            _ => Err(Fault::Invalid),
        }
    }
}

impl Frame {
    fn read(header: &[u8]) -> Result<Header, Fault> {
        let Some(&flags) = header.get(FLAGS) else { return Ok(Header::Needs(FLAGS + 1)) };
        if flags & VERSION != VERSION_1 || flags & RESERVED != 0 {
            return Err(Fault::Unsupported(StreamFeature::Flags, flags.into()));
        }
        let has = |flag: u8| flags & flag != 0;
        let dictionary = FIELDS + if has(CONTENT_SIZE) { 8 } else { 0 };
        let checksum = dictionary + if has(DICTIONARY) { 4 } else { 0 };
        if header.len() <= checksum {
            return Ok(Header::Needs(checksum + 1));
        }
        if (XxHash32::oneshot(0, &header[FLAGS..checksum]) >> 8) as u8 != header[checksum] {
            return Err(Fault::Checksum);
        }
        if has(DICTIONARY) {
            return Err(Fault::Unsupported(StreamFeature::Dictionary, number(header, dictionary).into()));
        }
        let size = header[BLOCK_SIZE];
        if size & RESERVED_OF_SIZE != 0 {
            return Err(Fault::Unsupported(StreamFeature::Flags, size.into()));
        }
        // 64 KiB, 256 KiB, 1 MiB or 4 MiB.
        let largest_block = match size >> 4 {
            log @ 4..=7 => 1 << (8 + 2 * log),
            _ => return Err(Fault::Invalid),
        };
        let content_size =
            has(CONTENT_SIZE).then(|| u64::from(number(header, FIELDS)) | u64::from(number(header, FIELDS + 4)) << 32);
        Ok(Header::Frame(Self {
            is_legacy: false,
            is_independent: has(INDEPENDENT),
            largest_block,
            largest_compressed: largest_block,
            has_block_checksums: has(BLOCK_CHECKSUMS),
            has_content_checksum: has(CONTENT_CHECKSUM),
            content_size,
        }))
    }
}
