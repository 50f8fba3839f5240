//! Reads the header of any kind of sparse extent: "KDMV", "COWD" or SESparse.

use super::entries::EntryLayout;
use super::sparse_header::{SparseHeader, head, position, size};
use super::structures::{
    COWD_MAGIC, COWD_TABLE_ENTRIES, COWD_VERSION, CowdHeader, KDMV_MAGIC, KdmvHeader, SESPARSE_ENTRY, SESPARSE_GRAIN,
    SESPARSE_MAGIC, SESPARSE_TABLE, SESPARSE_VERSION, SESPARSE_VOLATILE_MAGIC, SeSparseConstHeader,
    SeSparseVolatileHeader,
};
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result, ensure_header};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR};

/// Reads and validates the header of a sparse extent of any kind. Fails with `corrupt`, `unsupported` or `limit`, and as reading
/// does. A salvage tolerates a missing footer if grains have markers.
pub(super) async fn read_header(source: &dyn Source, salvage: bool) -> Result<SparseHeader> {
    let head = head(source).await?;
    let sparse = if head.starts_with(&KDMV_MAGIC) {
        let (header, place) = KdmvHeader::open(source, salvage).await?;
        header.sparse(place)?
    } else if head.starts_with(&COWD_MAGIC) {
        cowd(&head)?
    } else if head.starts_with(&SESPARSE_MAGIC) {
        sesparse(source, &head).await?
    } else {
        let what = "an extent that the descriptor calls sparse does not begin as one";
        return Err(Error::corrupt(what, HostOffset(0)));
    };
    sparse.check()
}

/// Parses the header of a "COWD" extent at the start of `head`. Fails with `unsupported`, `corrupt` or `limit`.
fn cowd(head: &[u8]) -> Result<SparseHeader> {
    ensure_header(SECTOR, head.len() as u64)?;
    let header = CowdHeader::parse(head);
    if header.version != COWD_VERSION {
        return Err(Error::unknown_version(header.version, "COWD extents"));
    }
    let sparse = SparseHeader {
        place: HostOffset(0),
        capacity_place: HostOffset(CowdHeader::num_sectors),
        layout: EntryLayout::Cowd,
        version: header.version,
        capacity: size(header.num_sectors.into())?,
        grain: u64::from(header.grain_size) * SECTOR,
        table_entries: COWD_TABLE_ENTRIES,
        directory: position(header.gd_offset.into(), "the grain directory", HostOffset(CowdHeader::gd_offset))?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    }
    .check()?;
    if u64::from(header.num_gd_entries) < sparse.shape().directory_entries() {
        let what = "its grain directory is too small for its disk";
        return Err(Error::corrupt(what, HostOffset(CowdHeader::num_gd_entries)));
    }
    Ok(sparse)
}

/// Reads the constant header of a SESparse extent at the start of `head`, and the volatile header. Fails with `unsupported`, `corrupt`,
/// `limit` or `source`.
async fn sesparse(source: &dyn Source, head: &[u8]) -> Result<SparseHeader> {
    ensure_header(SECTOR, source.size())?;
    let header = SeSparseConstHeader::parse(head);
    if header.version != SESPARSE_VERSION {
        return Err(Error::unknown_version(format_args!("{:#x}", header.version), "SESparse extents"));
    }
    let (grain, table, flags) = (header.grain_size, header.grain_table_size, header.flags);
    if (grain, table, flags) != (SESPARSE_GRAIN, SESPARSE_TABLE, 0) {
        let what = format!("SESparse extents with grains of {grain} sectors, tables of {table} and flags {flags:#x}");
        return Err(Error::unsupported(what));
    }
    let volatile = header.volatile_header_offset;
    let volatile = position(volatile, "the volatile header", HostOffset(SeSparseConstHeader::volatile_header_offset))?;
    ensure_possible("volatile header", volatile, header.capacity.saturating_mul(SECTOR), source.size())?;
    refuse_journal(source, volatile).await?;
    let (tables, grains) = (header.grain_tables_offset, header.grains_offset);
    position(tables, "the first grain table", HostOffset(SeSparseConstHeader::grain_tables_offset))?;
    position(grains, "the first grain", HostOffset(SeSparseConstHeader::grains_offset))?;
    let sparse = SparseHeader {
        place: HostOffset(0),
        capacity_place: HostOffset(SeSparseConstHeader::capacity),
        layout: EntryLayout::SeSparse { tables, grains },
        // The lower half.
        version: SESPARSE_VERSION as u32,
        capacity: size(header.capacity)?,
        grain: SESPARSE_GRAIN * SECTOR,
        table_entries: SESPARSE_TABLE * SECTOR / SESPARSE_ENTRY,
        directory: position(
            header.grain_dir_offset,
            "the grain directory",
            HostOffset(SeSparseConstHeader::grain_dir_offset),
        )?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    };
    if header.grain_dir_size.saturating_mul(SECTOR / SESPARSE_ENTRY) < sparse.shape().directory_entries() {
        let what = "its grain directory is too small for its disk";
        return Err(Error::corrupt(what, HostOffset(SeSparseConstHeader::grain_dir_size)));
    }
    Ok(sparse)
}

/// Fails with `unsupported` if the journal has changes that are not in the tables yet, and with `corrupt` if the
/// volatile header is missing.
async fn refuse_journal(source: &dyn Source, place: HostOffset) -> Result<()> {
    let bytes = read_exact(source, ByteRange { start: place, len: SECTOR }, "volatile header").await?;
    let header = SeSparseVolatileHeader::parse(&bytes);
    if header.magic != SESPARSE_VOLATILE_MAGIC {
        return Err(Error::corrupt("the volatile header is not where it should be", place));
    }
    if header.replay_journal != 0 {
        return Err(Error::unsupported("a SESparse journal that was not replayed"));
    }
    Ok(())
}
