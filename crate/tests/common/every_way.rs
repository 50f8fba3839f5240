//! Converts a case in every way: with every order of answers, small and large jobs, and to both kinds of targets.

use super::{ANSWERS, Case};
use decant::io::target::{Abilities, Holes};

/// Maximum job sizes: smaller than an output block, smaller than most clusters, and larger than most images of the tests.
const JOBS: [u64; 3] = [512, 8 << 10, 4 << 20];

/// Converts in every way; all results must equal `disk`.
pub fn check(case: &Case, disk: &[u8], what: &str) {
    for answers in ANSWERS {
        for job in JOBS {
            for kind in
                [Abilities::default(), Abilities { ascending: true, holes: Holes::WriteZeros, ..Abilities::default() }]
            {
                let converted = case.convert(answers, kind, job);
                converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(*converted.target.bytes.borrow() == disk, "{what}: other bytes, {answers:?}, jobs of {job}");
            }
        }
    }
}
