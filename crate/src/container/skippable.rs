//! Skippable frames, which zstd and lz4 share (RFC 8878, section 3.1.2). Programs that compress in parallel start files with one.

use crate::offsets::le32;

const MAGIC: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Length of the header of a skippable frame, in bytes.
const HEADER: usize = 8;

/// The rest of `head`, the start of a file, after its skippable frames. Empty if they are longer.
pub(super) fn after_skippable(head: &[u8]) -> &[u8] {
    let mut rest = head;
    while rest.len() >= HEADER && MAGIC.contains(&le32(rest, 0)) {
        rest = rest[HEADER..].get(le32(rest, 4) as usize..).unwrap_or_default();
    }
    rest
}
