//! Runs of sectors in a sector bitmap.

use std::iter::from_fn;
use std::ops::Range;

/// Number of sectors that a byte of a bitmap describes.
pub(crate) const SECTORS: u64 = 8;

/// Divides `part`, which is in the unit of eight sectors with the bits `present`, into runs of sectors with equal bits.
/// Returns each with its bit. The first sector has the lowest bit. `part` and `sector_size` are in bytes.
pub(crate) fn sector_runs(present: u8, part: Range<u64>, sector_size: u64) -> impl Iterator<Item = (bool, Range<u64>)> {
    let mut at = part.start;
    from_fn(move || {
        let start = at;
        let bits = present >> (start / sector_size % SECTORS);
        let is_present = bits & 1 != 0;
        let equal = if is_present { bits.trailing_ones() } else { bits.trailing_zeros() };
        at = ((start / sector_size + u64::from(equal)) * sector_size).min(part.end);
        (start < part.end).then_some((is_present, start..at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_bits() {
        let (no, yes) = (false, true);
        for (present, part, expected) in [
            (0, 0..80, vec![(no, 0..80)]),
            (0xff, 160..240, vec![(yes, 160..240)]),
            (0b0001_1010, 80..160, vec![(no, 80..90), (yes, 90..100), (no, 100..110), (yes, 110..130), (no, 130..160)]),
            (0b1000_0001, 3..78, vec![(yes, 3..10), (no, 10..70), (yes, 70..78)]),
            (0b1000_0001, 15..16, vec![(no, 15..16)]),
            (0xff, 5..5, vec![]),
        ] {
            assert_eq!(sector_runs(present, part.clone(), 10).collect::<Vec<_>>(), expected, "{present:#b}, {part:?}");
        }
    }
}
