//! The header of an image ("Image file header").

use super::FORMAT;
use crate::error::{Error, Result, checked_size_of, corrupt, ensure_header};
use crate::offsets::SECTOR;
use crate::structure::structure;

/// Entries of the table count sectors, and the disk has fewer than 2^32 of them.
const MAGIC: [u8; 16] = *b"WithoutFreeSpace";
/// Entries of the table count blocks.
const MAGIC_EXT: [u8; 16] = *b"WithouFreSpacExt";
const VERSION: u32 = 2;
/// Values of `in_use` in a file that was closed: by current programs, and by those without format extensions.
const CLOSED: [u32; 2] = [0x312e_3276, 0];
/// The bit of `flags` of an image without data.
const EMPTY: u32 = 1;
/// Size of a table entry, in bytes.
pub(super) const ENTRY_SIZE: u64 = 4;
/// Whether a file that starts with `head` is an image.
pub(super) fn is_start(head: &[u8]) -> bool {
    [MAGIC, MAGIC_EXT].iter().any(|magic| head.starts_with(magic))
}

structure! {
    /// The header ("Image file header"). The block allocation table follows it.
    pub(super) struct ParallelsHeader: Little {
        magic: [u8; 16] = 0,
        version: u32 = 16,
        /// Size of a block, in sectors.
        tracks: u32 = 28,
        /// Number of entries of the table.
        nb_bat_entries: u32 = 32,
        /// Virtual size, in sectors.
        nb_sectors: u64 = 36,
        in_use: u32 = 44,
        /// Offset of the first block, in sectors; 0 for the first sector after the table.
        data_off: u32 = 48,
        flags: u32 = 52,
        ext_off: u64 = 56,
    }
}

impl ParallelsHeader {
    /// Parses and validates `bytes`, the first bytes of a file of `file_size` bytes. Fails with `not-recognised`,
    /// `unsupported`, `corrupt` or `limit`.
    pub(super) fn validated(bytes: &[u8], file_size: u64) -> Result<Self> {
        if !is_start(bytes) {
            return Err(Error::other_format("The file is not a Parallels image", FORMAT.name));
        }
        ensure_header(Self::LEN as u64, file_size)?;
        let header = Self::parse(bytes);
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        if self.version != VERSION {
            return Err(Error::unknown_version(self.version, "Parallels"));
        }
        if self.tracks == 0 {
            return corrupt("the block size is 0", Self::tracks);
        }
        let size = checked_size_of("disk", self.sectors().checked_mul(SECTOR))?;
        let blocks = u64::from(self.nb_bat_entries);
        // In sectors: less than 2^64.
        let room = blocks * u64::from(self.tracks);
        if self.sectors() > room {
            let what = format!("the virtual size is {size} bytes, but {blocks} blocks have {room} sectors");
            return corrupt(what, Self::nb_sectors);
        }
        if self.data_off != 0 && u64::from(self.data_off) * SECTOR < self.table_end() {
            let what = "the data starts before the end of the block allocation table";
            return corrupt(what, Self::data_off);
        }
        Ok(())
    }

    fn has_small_units(&self) -> bool {
        self.magic == MAGIC
    }

    /// The virtual size, in sectors. An image whose table counts sectors has a field of 32 bits.
    fn sectors(&self) -> u64 {
        if self.has_small_units() { self.nb_sectors & u64::from(u32::MAX) } else { self.nb_sectors }
    }

    /// The virtual size, in bytes.
    pub(super) fn virtual_size(&self) -> u64 {
        self.sectors() * SECTOR
    }

    /// Size of a block, in bytes: less than 2^41.
    pub(super) fn block_size(&self) -> u64 {
        u64::from(self.tracks) * SECTOR
    }

    /// The number of blocks that the virtual size needs.
    pub(super) fn blocks(&self) -> u64 {
        self.sectors().div_ceil(self.tracks.into())
    }

    /// The end of the block allocation table, in bytes.
    pub(super) fn table_end(&self) -> u64 {
        Self::LEN as u64 + u64::from(self.nb_bat_entries) * ENTRY_SIZE
    }

    /// The lowest offset of a block, in bytes.
    pub(super) fn data_start(&self) -> u64 {
        match self.data_off {
            0 => self.table_end().next_multiple_of(SECTOR),
            sectors => u64::from(sectors) * SECTOR,
        }
    }

    /// The offset of the block of `entry`, in bytes. One that no file can have becomes the largest offset.
    pub(super) fn place(&self, entry: u32) -> u64 {
        let unit = if self.has_small_units() { SECTOR } else { self.block_size() };
        u64::from(entry).saturating_mul(unit)
    }

    /// Whether the last program did not close the image.
    pub(super) fn is_dirty(&self) -> bool {
        !CLOSED.contains(&self.in_use)
    }

    /// Whether the image is marked as one without data.
    pub(super) fn is_empty(&self) -> bool {
        self.flags & EMPTY != 0
    }
}
