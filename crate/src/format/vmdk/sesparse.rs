//! The headers of SESparse extents. QEMU's `block/vmdk.c` is the only description of the format.

use super::entries::{EntryLayout, SESPARSE_ENTRY, SESPARSE_GRAIN, SESPARSE_TABLE};
use super::sparse_header::{SparseHeader, position, size};
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR};
use crate::structure::structure;

pub(crate) const MAGIC: [u8; 8] = 0xcafe_babe_u64.to_le_bytes();
const VOLATILE_MAGIC: u64 = 0xcafe_cafe;
const VERSION: u64 = 0x2_0000_0001;

structure! {
    /// `VMDKSESparseConstHeader`. Sizes and offsets are in sectors.
    struct ConstHeader: Little {
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
    struct VolatileHeader: Little {
        magic: u64 = 0,
        replay_journal: u64 = 24,
    }
}

/// Reads the constant header at the start of `head`, and the volatile header. Fails with `unsupported`, `corrupt`,
/// `limit` or `source`.
pub(super) async fn open(source: &dyn Source, head: &[u8]) -> Result<SparseHeader> {
    if (head.len() as u64) < SECTOR {
        return Err(Error::truncated("the end of the header", HostOffset(SECTOR), source.size()));
    }
    let header = ConstHeader::parse(head);
    if header.version != VERSION {
        return Err(Error::unknown_version(format_args!("{:#x}", header.version), "SESparse extents"));
    }
    let (grain, table, flags) = (header.grain_size, header.grain_table_size, header.flags);
    if (grain, table, flags) != (SESPARSE_GRAIN, SESPARSE_TABLE, 0) {
        let what = format!("SESparse extents with grains of {grain} sectors, tables of {table} and flags {flags:#x}");
        return Err(Error::unsupported(what));
    }
    let volatile = header.volatile_header_offset;
    let volatile = position(volatile, "the volatile header", HostOffset(ConstHeader::volatile_header_offset))?;
    ensure_possible("volatile header", volatile, header.capacity.saturating_mul(SECTOR), source.size())?;
    refuse_journal(source, volatile).await?;
    let (tables, grains) = (header.grain_tables_offset, header.grains_offset);
    position(tables, "the first grain table", HostOffset(ConstHeader::grain_tables_offset))?;
    position(grains, "the first grain", HostOffset(ConstHeader::grains_offset))?;
    let sparse = SparseHeader {
        place: HostOffset(0),
        capacity_place: HostOffset(ConstHeader::capacity),
        layout: EntryLayout::SeSparse { tables, grains },
        // The lower half.
        version: VERSION as u32,
        capacity: size(header.capacity)?,
        grain: SESPARSE_GRAIN * SECTOR,
        table_entries: SESPARSE_TABLE * SECTOR / SESPARSE_ENTRY,
        directory: position(header.grain_dir_offset, "the grain directory", HostOffset(ConstHeader::grain_dir_offset))?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    };
    if header.grain_dir_size.saturating_mul(SECTOR / SESPARSE_ENTRY) < sparse.shape().directory_entries() {
        let what = "its grain directory is too small for its disk";
        return Err(Error::corrupt(what, HostOffset(ConstHeader::grain_dir_size)));
    }
    Ok(sparse)
}

/// Fails with `unsupported` if the journal has changes that are not in the tables yet, and with `corrupt` if the
/// volatile header is missing.
async fn refuse_journal(source: &dyn Source, place: HostOffset) -> Result<()> {
    let bytes = read_exact(source, ByteRange { start: place, len: SECTOR }, "volatile header").await?;
    let header = VolatileHeader::parse(&bytes);
    if header.magic != VOLATILE_MAGIC {
        return Err(Error::corrupt("the volatile header is not where it should be", place));
    }
    if header.replay_journal != 0 {
        return Err(Error::unsupported("a SESparse journal that was not replayed"));
    }
    Ok(())
}
