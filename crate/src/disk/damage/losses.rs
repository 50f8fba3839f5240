//! What a conversion has lost, gathered from its jobs.

use super::{Damage, Lost};
use crate::offsets::GuestRange;
use std::collections::HashMap;

/// Sorts ranges that do not overlap, and joins neighbours with the same damage.
fn merge(ranges: &mut Vec<Lost>) {
    ranges.sort_unstable_by_key(|lost| lost.start);
    ranges.dedup_by(|next, last| {
        let is_one = last.damage == next.damage && last.end() == next.start;
        if is_one {
            last.len += next.len;
        }
        is_one
    });
}

/// Upper bound on the ranges that are listed one by one.
pub const MOST_LISTED: usize = 10_000;

/// What a conversion has lost. Neighbours with the same damage are one range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The first ranges, in guest order: at most [`MOST_LISTED`].
    pub listed: Vec<Lost>,
    /// How many ranges there are.
    pub ranges: u64,
    /// How many bytes they have together.
    pub bytes: u64,
}

/// Gathers what jobs have lost, in bounded memory.
#[derive(Debug, Default)]
pub struct LostRanges {
    so_far: Losses,
    /// Ranges from this guest offset on are only counted, since there are too many.
    unlisted_from: Option<u64>,
    /// The guest offsets between two jobs of which one was added, each with the damage on that job's side, if there is
    /// any.
    edges: HashMap<u64, Option<Damage>>,
}

impl LostRanges {
    /// Adds what is lost of `range`, the whole guest range of one job. Jobs come in any order.
    pub fn add(&mut self, range: GuestRange, mut lost: Vec<Lost>) {
        merge(&mut lost);
        self.so_far.ranges += lost.len() as u64;
        self.so_far.bytes += lost.iter().map(|lost| lost.len).sum::<u64>();
        let first = lost.first().filter(|lost| lost.start == range.start);
        let last = lost.last().filter(|lost| lost.end() == range.end);
        self.meet(range.start, first.map(|lost| lost.damage));
        self.meet(range.end, last.map(|lost| lost.damage));
        let is_listed = |lost: &Lost| self.unlisted_from.is_none_or(|from| lost.start < from);
        self.so_far.listed.extend(lost.into_iter().filter(is_listed));
        if self.so_far.listed.len() > 2 * MOST_LISTED {
            self.shorten();
        }
    }

    /// Two ranges that meet at `place`, between two jobs, are one if they have the same damage.
    fn meet(&mut self, place: u64, damage: Option<Damage>) {
        match self.edges.remove(&place) {
            None => drop(self.edges.insert(place, damage)),
            Some(other) if damage.is_some() && damage == other => self.so_far.ranges -= 1,
            Some(_) => {}
        }
    }

    fn shorten(&mut self) {
        merge(&mut self.so_far.listed);
        if let Some(first) = self.so_far.listed.get(MOST_LISTED) {
            self.unlisted_from = Some(first.start);
            self.so_far.listed.truncate(MOST_LISTED);
        }
    }

    /// What was lost, after all jobs were added.
    pub fn finish(mut self) -> Losses {
        self.shorten();
        // The last listed range may continue in what is only counted.
        let is_cut = |lost: &Lost| self.unlisted_from == Some(lost.end());
        if self.so_far.listed.last().is_some_and(is_cut) {
            self.so_far.listed.pop();
        }
        self.so_far
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The jobs of a disk of `jobs` times 8 bytes, of which those bytes are lost for which `why` has a reason.
    fn gather(jobs: u64, order: impl Fn(u64) -> u64, why: impl Fn(u64) -> Option<Damage>) -> Losses {
        let mut ranges = LostRanges::default();
        for number in (0..jobs).map(order) {
            let range = GuestRange { start: number * 8, end: number * 8 + 8 };
            let lost =
                (range.start..range.end).rev().filter_map(|at| Some(Lost { start: at, len: 1, damage: why(at)? }));
            ranges.add(range, lost.collect());
            assert!(ranges.so_far.listed.capacity() <= 4 * MOST_LISTED + 16);
        }
        assert!(ranges.edges.len() <= 2);
        ranges.finish()
    }

    #[test]
    fn ranges_are_one_across_jobs_in_any_order() {
        use crate::disk::damage::decoding::{COMPRESSED_CUT as CUT, COMPRESSED_INVALID as INVALID};
        type Why = fn(u64) -> Option<Damage>;
        const JOBS: u64 = 4096;
        // (reasons, ranges, bytes)
        let cases: &[(Why, u64, u64)] = &[
            (|_| None, 0, 0),
            (|_| Some(CUT), 1, JOBS * 8),
            (|at| (at % 8 != 3).then_some(CUT), JOBS + 1, JOBS * 7),
            (|at| (at % 8 == 7).then_some(CUT), JOBS, JOBS),
            (|at| Some(if at / 8 % 2 == 0 { CUT } else { INVALID }), JOBS, JOBS * 8),
            // More than are listed.
            (|at| (at % 2 == 0).then_some(CUT), JOBS * 4, JOBS * 4),
            (|at| Some(if at % 2 == 0 { CUT } else { INVALID }), JOBS * 8, JOBS * 8),
        ];
        for (number, (why, ranges, bytes)) in cases.iter().enumerate() {
            let expected = gather(JOBS, |number| number, why);
            assert_eq!((expected.ranges, expected.bytes), (*ranges, *bytes), "case {number}");
            let listed = expected.listed.len() as u64;
            // The last one goes where the next one begins at its end.
            assert!(listed == (*ranges).min(MOST_LISTED as u64) || listed == MOST_LISTED as u64 - 1, "case {number}");
            assert!(expected.listed.is_sorted_by(|one, next| one.end() <= next.start), "case {number}");
            for order in [|number| JOBS - 1 - number, |number: u64| number.reverse_bits() >> 52] {
                let losses = gather(JOBS, order, why);
                assert!(losses == expected, "case {number}: other losses in another order");
            }
        }
    }
}
