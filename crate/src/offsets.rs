//! Distinct types for host and guest offsets, and readers for integers and strings in images.

use decant_text::file_name;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Range, Sub};

/// Sector size of disks and most formats, in bytes.
pub(crate) const SECTOR: u64 = 512;

/// The largest size or offset that the API can represent exactly: JavaScript's `Number.MAX_SAFE_INTEGER`.
pub(crate) const MAX_SIZE: u64 = (1 << 53) - 1;

/// The capacity that a descriptor states for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// In bytes.
    pub size: u64,
    /// The unit in which it is stated, in bytes: a disk may have a part of one more or less.
    pub unit: u64,
}

impl Capacity {
    /// Whether a disk of `size` bytes has another capacity.
    pub(crate) fn differs_from(self, size: u64) -> bool {
        self.size.abs_diff(size) >= self.unit.max(SECTOR)
    }
}

/// A byte range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub start: HostOffset,
    /// Length in bytes.
    pub len: u64,
}

impl ByteRange {
    /// Creates a range of `len` bytes at `start`. Returns `None` if its end exceeds 2^63-1.
    pub(crate) fn new(start: HostOffset, len: u64) -> Option<Self> {
        start.0.checked_add(len).filter(|&end| end <= i64::MAX as u64).map(|_| Self { start, len })
    }

    /// The offset after the last byte; 2^64-1 if that is larger.
    pub(crate) fn end(&self) -> u64 {
        self.start.0.saturating_add(self.len)
    }
}

/// An offset in a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostOffset(pub u64);

/// An offset on the guest disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GuestOffset(pub u64);

impl GuestOffset {
    /// The last multiple of `unit` up to this offset.
    pub(crate) fn align_down(self, unit: u64) -> Self {
        Self(self.0 / unit * unit)
    }

    /// The first multiple of `unit` from this offset on.
    pub(crate) fn align_up(self, unit: u64) -> Self {
        Self(self.0.next_multiple_of(unit))
    }
}

impl Add<u64> for GuestOffset {
    type Output = Self;

    fn add(self, len: u64) -> Self {
        Self(self.0 + len)
    }
}

impl AddAssign<u64> for GuestOffset {
    fn add_assign(&mut self, len: u64) {
        self.0 += len;
    }
}

/// The distance from an earlier offset, in bytes.
impl Sub for GuestOffset {
    type Output = u64;

    fn sub(self, start: Self) -> u64 {
        self.0 - start.0
    }
}

/// A range of the guest disk, in bytes. `end` is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestRange {
    /// First byte.
    pub start: GuestOffset,
    /// The offset after the last byte.
    pub(crate) end: GuestOffset,
}

impl GuestRange {
    /// Whether the range contains no bytes.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Length in bytes.
    pub fn len(self) -> u64 {
        self.end - self.start
    }
}

impl From<Range<u64>> for GuestRange {
    fn from(Range { start, end }: Range<u64>) -> Self {
        Self { start: GuestOffset(start), end: GuestOffset(end) }
    }
}

/// Reads a little-endian `u16` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// Reads a little-endian `u32` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Reads a little-endian `u64` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Reads a big-endian `u64` at `at`. The caller has checked the length of `bytes`.
pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Returns the bytes before the first NUL, or all of `bytes` if there is none.
pub(crate) fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Decodes [`before_nul`] as [`file_name`] does.
pub(crate) fn text_before_nul(bytes: &[u8]) -> String {
    file_name(before_nul(bytes))
}

/// Decodes UTF-16 up to the first NUL. Unpaired surrogates become U+FFFD.
pub(crate) fn utf_16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> =
        bytes.as_chunks::<2>().0.iter().map(|&bytes| unit(bytes)).take_while(|&unit| unit != 0).collect();
    String::from_utf16_lossy(&units)
}
