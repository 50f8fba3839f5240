//! Skippable frames, which the formats of zstd and lz4 share (RFC 8878, section 3.1.2).

use std::ops::RangeInclusive;

/// The magic numbers of skippable frames, little endian.
pub const SKIPPABLE_MAGIC: RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Length of the header of a skippable frame, in bytes: its magic number, and the length of the rest.
pub const SKIPPABLE_HEADER: usize = 8;
