//! Reads the header of any kind of sparse extent.

use super::kdmv::KdmvHeader;
use super::sparse_header::{SparseHeader, head};
use super::{cowd, kdmv, sesparse};
use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::offsets::HostOffset;

/// Reads and validates the header of a sparse extent of any kind. Fails with `corrupt` if the file is not one, and as
/// the kinds do. A salvage tolerates a missing footer if grains have markers.
pub(super) async fn read_header(source: &dyn Source, salvage: bool) -> Result<SparseHeader> {
    let head = head(source).await?;
    let sparse = if head.starts_with(&kdmv::MAGIC) {
        let (header, place) = KdmvHeader::open(source, salvage).await?;
        header.sparse(place)?
    } else if head.starts_with(&cowd::MAGIC) {
        cowd::parse(&head)?
    } else if head.starts_with(&sesparse::MAGIC) {
        sesparse::open(source, &head).await?
    } else {
        let what = "an extent that the descriptor calls sparse does not begin as one";
        return Err(Error::corrupt(what, HostOffset(0)));
    };
    sparse.check()
}
