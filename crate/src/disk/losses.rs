//! The ranges of a disk that a salvage lost to damage, and their collection from the jobs of a conversion.

use crate::error::damage::Damage;
use crate::offsets::{GuestOffset, GuestRange};
use serde::{Deserialize, Serialize, Serializer};

/// A range of the disk that could not be read and was replaced by zeros, or whose bytes may be wrong. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// First byte.
    pub start: GuestOffset,
    /// Length.
    pub len: u64,
    /// The reason.
    pub damage: Damage,
}

impl Lost {
    /// The guest offset after the last byte.
    pub fn end(&self) -> GuestOffset {
        self.start + self.len
    }
}

/// Sorts ranges and merges neighbours with the same damage. Of two ranges at one place, the first one of `ranges` counts.
fn merge(ranges: &mut Vec<Lost>) {
    ranges.sort_by_key(|lost| lost.start);
    ranges.dedup_by(|next, last| {
        let overlap = last.end().0.saturating_sub(next.start.0).min(next.len);
        (next.start, next.len) = (next.start + overlap, next.len - overlap);
        let is_one = last.damage == next.damage && last.end() == next.start;
        if is_one {
            last.len += next.len;
        }
        is_one || next.len == 0
    });
}

/// Maximum number of ranges listed individually.
pub const MOST_LISTED: usize = 10_000;

/// The lost ranges of a conversion. Neighbours with the same damage are one range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// The first ranges, in guest order: at most [`MOST_LISTED`].
    #[serde(rename = "lost", serialize_with = "as_lost_ranges")]
    pub listed: Vec<Lost>,
    /// Total number of ranges.
    #[serde(rename = "lostRanges")]
    pub ranges: u64,
    /// Total length, in bytes.
    #[serde(rename = "lostBytes")]
    pub bytes: u64,
}

/// `LostRange` of the API.
#[derive(Serialize)]
struct LostRange {
    offset: u64,
    length: u64,
    code: &'static str,
    message: &'static str,
}

fn as_lost_ranges<S: Serializer>(lost: &[Lost], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lost.iter().map(|&Lost { start, len, damage }| LostRange {
        offset: start.0,
        length: len,
        code: damage.code(),
        message: damage.reason(),
    }))
}

impl Losses {
    /// Adds the losses of a later part of the disk.
    pub(crate) fn join(&mut self, other: Self) {
        let room = MOST_LISTED.saturating_sub(self.listed.len());
        self.listed.extend(other.listed.into_iter().take(room));
        self.ranges += other.ranges;
        self.bytes += other.bytes;
    }
}

/// Collects lost ranges in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct LostRanges {
    so_far: Losses,
    /// From this guest offset on, ranges are counted but not listed, since there are too many.
    unlisted_from: Option<GuestOffset>,
    /// Ends of added jobs whose neighbour was not added yet, with the damage at that end, if any. There are about as many as jobs in
    /// flight.
    edges: Vec<(GuestOffset, Option<Damage>)>,
}

impl LostRanges {
    /// Adds the lost parts of `range`, the whole guest range of one job. Jobs may be added in any order.
    pub(crate) fn add(&mut self, range: GuestRange, mut lost: Vec<Lost>) {
        merge(&mut lost);
        self.so_far.ranges += lost.len() as u64;
        self.so_far.bytes += lost.iter().map(|lost| lost.len).sum::<u64>();
        let first = lost.first().filter(|lost| lost.start == range.start);
        let last = lost.last().filter(|lost| lost.end() == range.end);
        self.join_at(range.start, first.map(|lost| lost.damage));
        self.join_at(range.end, last.map(|lost| lost.damage));
        let is_listed = |lost: &Lost| self.unlisted_from.is_none_or(|from| lost.start < from);
        self.so_far.listed.extend(lost.into_iter().filter(is_listed));
        if self.so_far.listed.len() > 2 * MOST_LISTED {
            self.shorten();
        }
    }

    /// Counts two ranges that meet at `place`, the boundary of two jobs, as one if they have the same damage.
    fn join_at(&mut self, place: GuestOffset, damage: Option<Damage>) {
        let met = self.edges.iter().position(|(other, _)| *other == place).map(|at| self.edges.swap_remove(at).1);
        match met {
            None => self.edges.push((place, damage)),
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

    /// Returns the losses. Called after all jobs were added.
    pub(crate) fn finish(mut self) -> Losses {
        self.shorten();
        // Omit the last listed range if it may continue into the unlisted ones.
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

    /// Adds `jobs` jobs of 8 bytes each, in `order`. `why` returns the damage of a lost byte.
    fn gather(jobs: u64, order: impl Fn(u64) -> u64, why: impl Fn(u64) -> Option<Damage>) -> Losses {
        let mut ranges = LostRanges::default();
        for number in (0..jobs).map(order) {
            let range = number * 8..number * 8 + 8;
            let lost = |at: u64| Some(Lost { start: GuestOffset(at), len: 1, damage: why(at)? });
            ranges.add(range.clone().into(), range.rev().filter_map(lost).collect());
            assert!(ranges.so_far.listed.capacity() <= 4 * MOST_LISTED + 16);
        }
        assert!(ranges.edges.len() <= 2);
        ranges.finish()
    }

    /// A range that is in doubt may turn out to be unreadable.
    #[test]
    fn each_byte_is_lost_once() {
        use crate::compress::decoding_damage::{COMPRESSED_CUT as CUT, COMPRESSED_INVALID as INVALID};
        let lost = |start, len, damage| Lost { start: GuestOffset(start), len, damage };
        let mut ranges = LostRanges::default();
        ranges.add((0..40).into(), vec![lost(8, 8, INVALID), lost(8, 8, CUT), lost(12, 8, CUT), lost(30, 10, CUT)]);
        let losses = ranges.finish();
        assert_eq!(losses.listed, [lost(8, 8, INVALID), lost(16, 4, CUT), lost(30, 10, CUT)]);
        assert_eq!((losses.ranges, losses.bytes), (3, 22));
    }

    #[test]
    fn ranges_are_one_across_jobs_in_any_order() {
        use crate::compress::decoding_damage::{COMPRESSED_CUT as CUT, COMPRESSED_INVALID as INVALID};
        type Why = fn(u64) -> Option<Damage>;
        const JOBS: u64 = 4096;
        // (reasons, ranges, bytes)
        let cases: &[(Why, u64, u64)] = &[
            (|_| None, 0, 0),
            (|_| Some(CUT), 1, JOBS * 8),
            (|at| (at % 8 != 3).then_some(CUT), JOBS + 1, JOBS * 7),
            (|at| (at % 8 == 7).then_some(CUT), JOBS, JOBS),
            (|at| Some(if at / 8 % 2 == 0 { CUT } else { INVALID }), JOBS, JOBS * 8),
            // More ranges than can be listed.
            (|at| (at % 2 == 0).then_some(CUT), JOBS * 4, JOBS * 4),
            (|at| Some(if at % 2 == 0 { CUT } else { INVALID }), JOBS * 8, JOBS * 8),
        ];
        for (number, (why, ranges, bytes)) in cases.iter().enumerate() {
            let expected = gather(JOBS, |number| number, why);
            assert_eq!((expected.ranges, expected.bytes), (*ranges, *bytes), "case {number}");
            let listed = expected.listed.len() as u64;
            // The last listed range is omitted if the next one begins at its end.
            assert!(listed == (*ranges).min(MOST_LISTED as u64) || listed == MOST_LISTED as u64 - 1, "case {number}");
            assert!(expected.listed.is_sorted_by(|one, next| one.end() <= next.start), "case {number}");
            for order in [|number| JOBS - 1 - number, |number: u64| number.reverse_bits() >> 52] {
                let losses = gather(JOBS, order, why);
                assert!(losses == expected, "case {number}: other losses in another order");
            }
        }
    }
}
