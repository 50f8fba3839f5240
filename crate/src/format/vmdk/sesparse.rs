//! The headers of SESparse extents. QEMU's `block/vmdk.c` is the only description of the format.

use super::entries::{Layout, SESPARSE_ENTRY, SESPARSE_GRAIN, SESPARSE_TABLE};
use super::sparse::{Sparse, position, size};
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR, le64};

pub(super) const MAGIC: [u8; 8] = 0xcafe_babe_u64.to_le_bytes();
const VOLATILE_MAGIC: u64 = 0xcafe_cafe;
const VERSION: u64 = 0x2_0000_0001;

/// Reads the constant header at the start of `head`, and the volatile header. Fails with `unsupported`, `corrupt`,
/// `limit` or `source`.
pub(super) async fn open(source: &dyn Source, head: &[u8]) -> Result<Sparse> {
    if (head.len() as u64) < SECTOR {
        return Err(Error::truncated("the end of the header", HostOffset(SECTOR), source.size()));
    }
    let field = |number: usize| le64(head, 8 * number);
    let [version, capacity, grain, table, flags] = [1, 2, 3, 4, 5].map(field);
    if version != VERSION {
        return Err(Error::unknown_version(format_args!("{version:#x}"), "SESparse extents"));
    }
    if (grain, table, flags) != (SESPARSE_GRAIN, SESPARSE_TABLE, 0) {
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
        grain: SESPARSE_GRAIN * SECTOR,
        table_entries: SESPARSE_TABLE * SECTOR / SESPARSE_ENTRY,
        directory: position(field(16), "the grain directory", 128)?,
        redundant: None,
        markers: None,
        compressed: None,
        is_dirty: false,
    };
    if field(17).saturating_mul(SECTOR / SESPARSE_ENTRY) < sparse.shape().directory_entries() {
        return Err(Error::corrupt("its grain directory is too small for its disk", HostOffset(136)));
    }
    Ok(sparse)
}

/// Fails with `unsupported` if the journal has changes that are not in the tables yet, and with `corrupt` if the
/// volatile header is missing.
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
