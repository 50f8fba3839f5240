//! Skippable frames at the start of a file of zstd or lz4. Programs that compress in parallel write them.

use crate::offsets::le32;
use decant_module::{SKIPPABLE_HEADER, SKIPPABLE_MAGIC};

/// Returns the part of `head`, the start of a file, after its skippable frames. It is empty if they are longer than `head`.
pub(super) fn after_skippable(head: &[u8]) -> &[u8] {
    let mut rest = head;
    while rest.len() >= SKIPPABLE_HEADER && SKIPPABLE_MAGIC.contains(&le32(rest, 0)) {
        rest = rest[SKIPPABLE_HEADER..].get(le32(rest, 4) as usize..).unwrap_or_default();
    }
    rest
}
