//! Offsets that cannot be mixed up, and the arithmetic on numbers an image supplies.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The unit in which output is data or a hole, in bytes: the block size of the file systems that
/// output lands on, and the granularity of `qemu-img convert` (`-S 4k`).
pub const BLOCK: u64 = 4096;

/// The largest size or offset that the API can state exactly: JavaScript's
/// `Number.MAX_SAFE_INTEGER`.
pub const MAX_SIZE: u64 = (1 << 53) - 1;

/// A byte range in the file of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub start: HostOffset,
    /// Length in bytes.
    pub len: u64,
}

impl ByteRange {
    /// The range of `len` bytes at `start`. An end past 2^63 is `corrupt`.
    pub fn new(start: HostOffset, len: u64, what: &str) -> Result<Self> {
        match start.0.checked_add(len) {
            Some(end) if end <= i64::MAX as u64 => Ok(Self { start, len }),
            _ => Err(Error::corrupt(format!("the {what} has an impossible position"), start)),
        }
    }

    /// The first byte behind the range.
    pub fn end(&self) -> u64 {
        self.start.0 + self.len
    }
}

/// A position in the file of an image, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostOffset(pub u64);

/// A position on the disk that the guest sees, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuestOffset(pub u64);

/// A byte range on the disk that the guest sees, from `start` to before `end`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestRange {
    /// First byte.
    pub start: u64,
    /// The first byte behind it.
    pub end: u64,
}

impl GuestRange {
    /// Whether it has no bytes.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

impl GuestOffset {
    /// The start of the output block that holds this byte.
    pub fn block_start(self) -> u64 {
        self.0 / BLOCK * BLOCK
    }
}

/// Reads a big-endian `u16` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// Reads a big-endian `u32` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Reads a big-endian `u64` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
