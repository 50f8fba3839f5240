//! Salvages images, and compares the disk with the lost ranges.

use super::{Answers, Case, Digested, digest_of};
use decant::Result;
use decant::disk::host_ranges::{DATA_IN_STRUCTURE, DATA_OVERLAPS, TABLE_OVERLAPS};
use decant::disk::losses::{Losses, Lost};
use decant::error::damage::Damage;
use decant::format::vhd::FOOTER_WRONG;
use decant::format::vhdx::LOG_LOST;
use decant::io::target::Abilities;

/// Sizes of jobs: smaller than an output block, one block, and larger than most images of tests.
const JOBS: [u64; 3] = [512, 4096, 1 << 20];

/// Salvages `case` with jobs of every size, whose results must agree. Returns the disk and all losses.
pub fn salvage(case: &Case) -> Result<(Vec<u8>, Vec<Lost>)> {
    let case = Case { salvage: true, digest: Some(Digested::Sha256), ..case.clone() };
    let mut first: Option<(Vec<u8>, Losses)> = None;
    for job in JOBS {
        let converted = case.convert(Answers::Reverse, Abilities::default(), job);
        converted.result?;
        let digest = converted.digest.expect("it was wanted");
        let found = (converted.target.bytes.take(), converted.lost);
        let is_first = first.is_none();
        assert!(!is_first || digest == digest_of(&found.0), "the digest of another disk, with jobs of {job}");
        assert!(*first.get_or_insert_with(|| found.clone()) == found, "other losses with jobs of {job}");
    }
    let (disk, Losses { listed, ranges, bytes }) = first.unwrap();
    assert_eq!((ranges, bytes), (listed.len() as u64, listed.iter().map(|lost| lost.len).sum()));
    Ok((disk, listed))
}

/// Whether ranges with this damage are read as they are, since only their position is in doubt.
fn is_doubt(damage: Damage) -> bool {
    [DATA_OVERLAPS, DATA_IN_STRUCTURE, TABLE_OVERLAPS, FOOTER_WRONG, LOG_LOST].contains(&damage)
}

/// Returns `disk` with zeros in the lost ranges that cannot be read.
pub fn without(disk: &[u8], lost: &[Lost]) -> Vec<u8> {
    let mut left = disk.to_vec();
    for range in lost.iter().filter(|range| !is_doubt(range.damage)) {
        left[range.start.0 as usize..range.end().0 as usize].fill(0);
    }
    left
}

/// Asserts that a salvage of `case` loses exactly `expected`, and reads `disk` elsewhere, and that a conversion is
/// refused if anything is lost.
pub fn check_damage(what: &str, case: &Case, disk: &[u8], expected: &[Lost]) {
    let (left, lost) = salvage(case).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(lost, expected, "{what}");
    let right = without(disk, &lost);
    assert_eq!(left.len(), right.len(), "{what}");
    if let Some(at) = (0..right.len()).find(|&at| left[at] != right[at]) {
        panic!("{what}: {:#x} at {at}, not {:#x}", left[at], right[at]);
    }
    if !lost.is_empty() {
        let refused = Case { salvage: false, ..case.clone() }.bytes();
        assert!(refused.as_ref().is_err_and(|error| error.kind == decant::ErrorKind::Corrupt), "{what}: not refused");
    }
}
