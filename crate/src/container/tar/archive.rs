//! An archive that is read block by block, at any position or in order.

use crate::error::{Error, Result};

/// An archive with a place at which it is read.
pub trait Archive {
    /// The place, in bytes from its start.
    fn position(&self) -> u64;

    /// Fills `buf` and moves behind it. Returns fewer bytes only where the archive ends.
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize>;

    /// Fills `buf` with what comes next, and stays where it is. Returns fewer bytes only where the archive ends.
    async fn peek(&mut self, buf: &mut [u8]) -> Result<usize>;

    /// Moves behind the next `len` bytes; false where the archive ends before, which is its place then.
    async fn pass(&mut self, len: u64) -> Result<bool>;

    /// The error where the archive ends too early.
    fn truncated(&self) -> Error;

    /// Whether the data of a file, or of something else, may end with the archive.
    fn is_salvaged(&self) -> bool {
        false
    }
}

/// Fills `buf`, or fails where the archive ends before.
pub async fn read_exact(archive: &mut impl Archive, buf: &mut [u8]) -> Result<()> {
    if archive.read(buf).await? < buf.len() { Err(archive.truncated()) } else { Ok(()) }
}
