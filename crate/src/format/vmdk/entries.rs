//! Grain directory and grain table entries of each kind of sparse extent.

use super::structures::{
    COWD_HEADER, ENTRY, SESPARSE_ALLOCATED, SESPARSE_ENTRY, SESPARSE_GRAIN, SESPARSE_IS_TABLE, SESPARSE_TABLE,
    SESPARSE_TYPE_SHIFT, SESPARSE_UNMAPPED, SESPARSE_ZERO, ZERO_GRAIN,
};
use super::{DIRECTORY_ENTRY, TABLE_ENTRY};
use crate::error::damage::Damage;
use crate::offsets::{HostOffset, SECTOR, le32, le64};

/// The layout of directory and table entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryLayout {
    /// "KDMV": 4 bytes. 1 is a zero grain.
    Kdmv,
    /// "COWD": 4 bytes.
    Cowd,
    /// SESparse: 8 bytes. `tables` and `grains` are the first sectors of the tables and grains.
    SeSparse { tables: u64, grains: u64 },
}

/// A grain, as recorded by its table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Not allocated: the parent's bytes, or zeros.
    Absent,
    Zero,
    At(HostOffset),
}

impl EntryLayout {
    /// Size of a directory or table entry, in bytes.
    pub(super) fn entry_size(self) -> u64 {
        match self {
            EntryLayout::Kdmv | EntryLayout::Cowd => ENTRY,
            EntryLayout::SeSparse { .. } => SESPARSE_ENTRY,
        }
    }

    /// Reads the entry at the start of `bytes`.
    pub(super) fn entry(self, bytes: &[u8]) -> u64 {
        match self {
            EntryLayout::Kdmv | EntryLayout::Cowd => le32(bytes, 0).into(),
            EntryLayout::SeSparse { .. } => le64(bytes, 0),
        }
    }

    /// Returns the host offset of a directory entry's table; `None` if there is no table.
    pub(super) fn table(self, entry: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        match self {
            _ if entry == 0 => Ok(None),
            EntryLayout::Kdmv | EntryLayout::Cowd => Ok(Some(HostOffset(entry * SECTOR))),
            EntryLayout::SeSparse { tables, .. } => sesparse_table(tables, entry).map(Some).ok_or(DIRECTORY_ENTRY),
        }
    }

    /// Interprets a table entry.
    pub(super) fn grain(self, entry: u64) -> std::result::Result<Grain, Damage> {
        match self {
            _ if entry == 0 => Ok(Grain::Absent),
            // Even without the flag for zero grains.
            EntryLayout::Kdmv if entry == ZERO_GRAIN => Ok(Grain::Zero),
            EntryLayout::Cowd if entry < COWD_HEADER => Err(TABLE_ENTRY),
            EntryLayout::Kdmv | EntryLayout::Cowd => Ok(Grain::At(HostOffset(entry * SECTOR))),
            EntryLayout::SeSparse { grains, .. } => sesparse_grain(grains, entry).ok_or(TABLE_ENTRY),
        }
    }
}

/// Returns the host offset of a directory entry's table; `None` if the entry is invalid. `tables` is the first sector
/// of all tables.
fn sesparse_table(tables: u64, entry: u64) -> Option<HostOffset> {
    let (kind, index) = (entry >> 32, entry & u64::from(u32::MAX));
    let sector = tables.checked_add(index * SESPARSE_TABLE)?;
    (kind == SESPARSE_IS_TABLE).then_some(())?;
    position(sector)
}

/// Interprets a table entry; `None` if it is invalid. `grains` is the first sector of all grains.
fn sesparse_grain(grains: u64, entry: u64) -> Option<Grain> {
    match entry >> SESPARSE_TYPE_SHIFT {
        SESPARSE_UNMAPPED | SESPARSE_ZERO => Some(Grain::Zero),
        SESPARSE_ALLOCATED => {
            let (low, high) = (entry >> 48 & 0x0fff, entry & 0x0000_ffff_ffff_ffff);
            let index = low | high << 12;
            let sector = index.checked_mul(SESPARSE_GRAIN)?.checked_add(grains)?;
            position(sector).map(Grain::At)
        }
        _ => None,
    }
}

fn position(sector: u64) -> Option<HostOffset> {
    sector.checked_mul(SECTOR).filter(|&at| at <= i64::MAX as u64).map(HostOffset)
}
