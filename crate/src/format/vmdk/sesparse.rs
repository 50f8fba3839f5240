//! The headers and entries of a SESparse extent. QEMU's `block/vmdk.c` is the only description.

use super::sparse::{Grain, Layout, Sparse, position, size};
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR, le64};

/// The magic number, 8 bytes.
pub(super) const MAGIC: [u8; 8] = 0xcafe_babe_u64.to_le_bytes();
const VOLATILE_MAGIC: u64 = 0xcafe_cafe;
const VERSION: u64 = 0x2_0000_0001;
/// The only sizes of grains and of grain tables, in sectors.
const GRAIN_SECTORS: u64 = 8;
const TABLE_SECTORS: u64 = 64;
const ENTRY_SIZE: u64 = 8;

/// The upper half of a directory entry that has a table.
const IS_TABLE: u64 = 0x1000_0000;
/// The highest 4 bits of a table entry are its type.
const TYPE_SHIFT: u32 = 60;
const UNMAPPED: u64 = 1;
const ZERO: u64 = 2;
const ALLOCATED: u64 = 3;

/// Reads the constant header at the start of `head`, and the volatile header. Fails with `unsupported`, `corrupt`, `limit` or
/// `source`.
pub(super) async fn open(source: &dyn Source, head: &[u8]) -> Result<Sparse> {
    if (head.len() as u64) < SECTOR {
        return Err(Error::truncated("the end of the header", HostOffset(SECTOR), source.size()));
    }
    let field = |number: usize| le64(head, 8 * number);
    let [version, capacity, grain, table, flags] = [1, 2, 3, 4, 5].map(field);
    if version != VERSION {
        return Err(Error::unsupported(format!("version {version:#x} of SESparse extents")));
    }
    if (grain, table, flags) != (GRAIN_SECTORS, TABLE_SECTORS, 0) {
        let what = format!("SESparse extents with grains of {grain} sectors, tables of {table} and flags {flags:#x}");
        return Err(Error::unsupported(what));
    }
    refuse_journal(source, position(field(10), "the volatile header", 80)?).await?;
    let (tables, grains) = (field(18), field(24));
    position(tables, "the first grain table", 144)?;
    position(grains, "the first grain", 192)?;
    let sparse = Sparse {
        layout: Layout::SeSparse { tables, grains },
        // The lower half.
        version: VERSION as u32,
        capacity: size(capacity)?,
        grain: GRAIN_SECTORS * SECTOR,
        table_entries: TABLE_SECTORS * SECTOR / ENTRY_SIZE,
        directory: position(field(16), "the grain directory", 128)?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    };
    if field(17).saturating_mul(SECTOR / ENTRY_SIZE) < sparse.directory_entries() {
        return Err(Error::corrupt("its grain directory is too small for its disk", HostOffset(136)));
    }
    Ok(sparse)
}

/// Fails with `unsupported` if the journal has changes that the tables do not have yet.
async fn refuse_journal(source: &dyn Source, place: HostOffset) -> Result<()> {
    let header = read_exact(source, ByteRange { start: place, len: SECTOR }, "volatile header").await?;
    if le64(&header, 0) != VOLATILE_MAGIC {
        return Err(Error::corrupt("the volatile header is not where it should be", place));
    }
    if le64(&header, 24) != 0 {
        return Err(Error::unsupported("a SESparse journal that was not replayed"));
    }
    Ok(())
}

/// The offset of the table of a directory entry. `tables` is the first sector of all tables. `None`: the entry is invalid.
pub(super) fn table(tables: u64, entry: u64) -> Option<HostOffset> {
    let (kind, index) = (entry >> 32, entry & u64::from(u32::MAX));
    let sector = tables.checked_add(index * TABLE_SECTORS)?;
    (kind == IS_TABLE).then_some(())?;
    bytes(sector)
}

/// What a table entry records. `grains` is the first sector of all grains. `None`: the entry is invalid.
pub(super) fn grain(grains: u64, entry: u64) -> Option<Grain> {
    match entry >> TYPE_SHIFT {
        UNMAPPED | ZERO => Some(Grain::Zero),
        ALLOCATED => {
            let (low, high) = (entry >> 48 & 0x0fff, entry & 0x0000_ffff_ffff_ffff);
            let index = low | high << 12;
            let sector = index.checked_mul(GRAIN_SECTORS)?.checked_add(grains)?;
            bytes(sector).map(Grain::At)
        }
        _ => None,
    }
}

fn bytes(sector: u64) -> Option<HostOffset> {
    sector.checked_mul(SECTOR).filter(|&at| at <= i64::MAX as u64).map(HostOffset)
}
