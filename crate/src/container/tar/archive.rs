//! Access to an archive, block by block, with or without seeking; the fields of a block, as numbers and texts.

use crate::container::kept_name;
use crate::error::{Error, Result};
use crate::structure::structure;
use decant_text::file_name;
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

/// Block size, in bytes.
pub(crate) const BLOCK: u64 = 512;

structure! {
    /// The fields of a POSIX header that are read. Numbers are text.
    pub(super) struct UstarHeader: Big {
        name: [u8; 100] = 0,
        size: [u8; 12] = 124,
        chksum: [u8; 8] = 148,
        typeflag: u8 = 156,
        linkname: [u8; 100] = 157,
        /// `magic` and `version`.
        magic: [u8; 8] = 257,
        prefix: [u8; 155] = 345,
    }
}

/// The start of every magic number.
pub(super) const MAGIC: &[u8] = b"ustar";
/// The magic number of GNU headers.
pub(super) const GNU_MAGIC: &[u8; 8] = b"ustar  \0";

/// The type of a sparse member in the old GNU format.
pub(super) const SPARSE: u8 = b'S';

/// Parses a numeric field: octal digits padded with spaces or NULs, or base 256, marked by the highest bit. Returns
/// `None` if it is invalid, negative, or exceeds 64 bits.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        // The next bit is the sign.
        let first = u64::from(field[0] & 0x7f);
        let is_positive = field[0] & 0x40 == 0;
        let digits = field[1..].iter().try_fold(first, |sum, &byte| Some(sum.checked_mul(256)? | u64::from(byte)));
        return digits.filter(|_| is_positive);
    }
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|byte| matches!(byte, b' ' | 0)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if !rest.iter().all(|byte| matches!(byte, b' ' | 0)) {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, &digit| match digit {
        b'0'..=b'7' => sum.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

/// Decodes the string before the first NUL as [`file_name`] does. It is shortened by [`kept_name`].
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    kept_name(&file_name(&bytes[..end]))
}
