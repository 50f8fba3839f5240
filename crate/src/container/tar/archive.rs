//! Access to an archive, block by block, with or without seeking.

use crate::error::{Error, Result};
use futures_util::future::LocalBoxFuture;

/// An archive with a read position. Its futures are boxed, so that the code that scans headers exists once.
pub(crate) trait Archive {
    /// The read position, in bytes from the start.
    fn position(&self) -> u64;

    /// Fills `buf` and advances. Returns the number of bytes read, less than the length of `buf` only at the end of the
    /// archive.
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>>;

    /// Fills `buf` without advancing. Returns the number of bytes read, less than the length of `buf` only at the end
    /// of the archive.
    fn peek<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>>;

    /// Skips `len` bytes. If the archive ends before that, returns false and stops at its end.
    fn pass(&mut self, len: u64) -> LocalBoxFuture<'_, Result<bool>>;

    /// The error for an archive that ends too early.
    fn truncated(&self) -> Error;

    /// Whether the archive may end inside a member's data (salvage).
    fn is_salvaged(&self) -> bool {
        false
    }
}

/// Fills `buf`. Fails with `corrupt` (truncated) if the archive ends before that.
pub(crate) async fn read_exact(archive: &mut dyn Archive, buf: &mut [u8]) -> Result<()> {
    if archive.read(buf).await? < buf.len() { Err(archive.truncated()) } else { Ok(()) }
}
