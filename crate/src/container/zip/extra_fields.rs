//! Extra fields of headers (section 4.5).

use crate::offsets::le16;

/// The field of sizes and offsets with 64 bits (section 4.5.3).
const ZIP64: u16 = 1;

/// Whether there is a zip64 extra field.
pub(super) fn has_zip64(extra: &[u8]) -> bool {
    field(extra, ZIP64).is_some()
}

/// Returns `numbers` with the values of the zip64 extra field in place of those that do not fit in 32 bits; `None` if it
/// lacks one.
pub(super) fn widened(numbers: [u32; 3], extra: &[u8]) -> Option<[u64; 3]> {
    let mut wide = field(extra, ZIP64).unwrap_or_default();
    let mut values = numbers.map(u64::from);
    for value in values.iter_mut().filter(|value| **value == u64::from(u32::MAX)) {
        let (first, rest) = wide.split_first_chunk()?;
        (*value, wide) = (u64::from_le_bytes(*first), rest);
    }
    Some(values)
}

/// Returns the data of the extra field `id` (section 4.5.1).
pub(super) fn field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    loop {
        let (head, rest) = extra.split_at_checked(4)?;
        let (data, rest) = rest.split_at_checked(le16(head, 2).into())?;
        if le16(head, 0) == id {
            return Some(data);
        }
        extra = rest;
    }
}
