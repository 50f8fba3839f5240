//! Grain directory and grain table entries of each kind of sparse extent.

use super::{DIRECTORY_ENTRY, TABLE_ENTRY};
use crate::error::damage::Damage;
use crate::offsets::{HostOffset, SECTOR, le32, le64};

/// Length of a COWD header, in sectors.
const COWD_HEADER_SECTORS: u64 = 4;
/// The only grain and grain table sizes of SESparse, in sectors.
pub(super) const SESPARSE_GRAIN: u64 = 8;
pub(super) const SESPARSE_TABLE: u64 = 64;
/// Size of a SESparse entry, in bytes.
pub(super) const SESPARSE_ENTRY: u64 = 8;

/// The upper half of a directory entry with a table.
const IS_TABLE: u64 = 0x1000_0000;
/// The highest 4 bits of a table entry are its type.
const TYPE_SHIFT: u32 = 60;
const UNMAPPED: u64 = 1;
const ZERO: u64 = 2;
const ALLOCATED: u64 = 3;

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
            EntryLayout::Kdmv | EntryLayout::Cowd => 4,
            EntryLayout::SeSparse { .. } => 8,
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
            // Even without the flag for zero grains, since sector 1 contains a header or descriptor, never a grain.
            EntryLayout::Kdmv if entry == 1 => Ok(Grain::Zero),
            EntryLayout::Cowd if entry < COWD_HEADER_SECTORS => Err(TABLE_ENTRY),
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
    (kind == IS_TABLE).then_some(())?;
    position(sector)
}

/// Interprets a table entry; `None` if it is invalid. `grains` is the first sector of all grains.
fn sesparse_grain(grains: u64, entry: u64) -> Option<Grain> {
    match entry >> TYPE_SHIFT {
        UNMAPPED | ZERO => Some(Grain::Zero),
        ALLOCATED => {
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
