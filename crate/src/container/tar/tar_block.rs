//! Header blocks: their fields, and parsers for numbers and strings.

use crate::container::kept_name;
use crate::structure::structure;

/// Block size, in bytes.
pub(crate) const BLOCK: u64 = 512;

structure! {
    /// The fields of a POSIX header that are read. Numbers are text.
    pub(super) struct UstarHeader: Big {
        name: [u8; 100] = 0,
        size: [u8; 12] = 124,
        chksum: [u8; 8] = 148,
        typeflag: u8 = 156,
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

/// Decodes the string before the first NUL as UTF-8, replacing invalid sequences. It is shortened by [`kept_name`].
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    kept_name(&String::from_utf8_lossy(&bytes[..end]))
}
