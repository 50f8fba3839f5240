//! Finds earlier occurrences of bytes, by hash chains.

use super::symbols::{LONGEST_MATCH, WINDOW};
use super::table;
use crate::DeflateError;

const HASH_BITS: u32 = 15;
const SHORT_HASH_BITS: u32 = 12;

/// Minimum number of bytes from a position that is searched or added.
const LOOKAHEAD: usize = 4;

/// An earlier occurrence of the bytes at a position.
#[derive(Clone, Copy, Default)]
pub(super) struct Match {
    /// Length in bytes.
    pub(super) len: usize,
    /// Distance back to its start, in bytes; 0 without a match.
    pub(super) distance: usize,
}

/// Limits of a search.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Maximum number of positions to compare.
    pub(super) candidates: u32,
    /// A match of this length, in bytes, ends the search.
    pub(super) enough: usize,
}

/// Finds matches. Positions are stored as their low 16 bits, so an outdated entry may mean a wrong position in the
/// window. Since every match is compared, this only costs time.
pub(super) struct MatchFinder {
    /// The last position of each hash of three bytes.
    short: Box<[u16; 1 << SHORT_HASH_BITS]>,
    /// The last position of each hash of four bytes.
    heads: Box<[u16; 1 << HASH_BITS]>,
    /// For each position in the window, the previous one with the same hash of four bytes.
    chain: Box<[u16; WINDOW]>,
    /// Maximum distance of a match, in bytes.
    window: usize,
}

impl MatchFinder {
    pub(super) fn new() -> Result<Self, DeflateError> {
        Ok(Self { short: table()?, heads: table()?, chain: table()?, window: WINDOW })
    }

    /// Begins an input whose matches reach back at most `window` bytes. Removes all positions, so that results depend
    /// on the new input only.
    pub(super) fn begin(&mut self, window: usize) {
        self.window = window.min(WINDOW);
        self.short.fill(0);
        self.heads.fill(0);
    }

    /// Adds `at`, and returns the longest match there that is longer than `than` bytes, which must be at least 2.
    #[inline(always)]
    pub(super) fn longest(&mut self, input: &[u8], at: usize, than: usize, effort: Effort) -> Match {
        let mut best = Match { len: than, distance: 0 };
        let most = (input.len() - at).min(LONGEST_MATCH);
        if most < LOOKAHEAD {
            return best;
        }
        let word = load32(input, at);
        let (short, head) = self.enter(at, word);
        if best.len < 3 {
            let distance = distance(at, short);
            if self.is_inside(distance, at) && (load32(input, at - distance) ^ word) << 8 == 0 {
                best = Match { len: 3, distance };
            }
        }
        if most <= best.len {
            return best;
        }
        let mut candidate = head;
        let mut before = 0;
        for _ in 0..effort.candidates {
            let distance = distance(at, candidate);
            if distance <= before || !self.is_inside(distance, at) {
                break;
            }
            before = distance;
            let from = at - distance;
            // The end is compared first: most candidates that are not longer than the best one differ there.
            let end = best.len.saturating_sub(3);
            if load32(input, from) == word && load32(input, from + end) == load32(input, at + end) {
                let len = common(input, from, at, most);
                if len > best.len {
                    best = Match { len, distance };
                    if len >= effort.enough || len == most {
                        break;
                    }
                }
            }
            candidate = self.chain[from % WINDOW];
        }
        best
    }

    /// Adds the positions from `start` to `end` of a match of `distance`. Repetitions within the match are added only
    /// once.
    #[inline(always)]
    pub(super) fn skip(&mut self, input: &[u8], start: usize, end: usize, distance: usize) {
        let start = start.max(end.saturating_sub(distance));
        for at in start..end.min((input.len() + 1).saturating_sub(LOOKAHEAD)) {
            self.enter(at, load32(input, at));
        }
    }

    #[inline(always)]
    fn is_inside(&self, distance: usize, at: usize) -> bool {
        distance.wrapping_sub(1) < self.window && distance <= at
    }

    /// Adds a position. Returns the previous ones with the same hash of three and of four bytes.
    #[inline(always)]
    fn enter(&mut self, at: usize, word: u32) -> (u16, u16) {
        let short = std::mem::replace(&mut self.short[hash(word << 8, SHORT_HASH_BITS)], at as u16);
        let head = std::mem::replace(&mut self.heads[hash(word, HASH_BITS)], at as u16);
        self.chain[at % WINDOW] = head;
        (short, head)
    }
}

#[inline(always)]
fn hash(word: u32, bits: u32) -> usize {
    (word.wrapping_mul(0x1e35_a7bd) >> (32 - bits)) as usize
}

/// Distance from `entry` to `at`, in bytes.
#[inline(always)]
fn distance(at: usize, entry: u16) -> usize {
    usize::from((at as u16).wrapping_sub(entry))
}

/// Length of the common bytes at `from` and at the later `at`, up to `most`, which must be within the input. The first
/// `LOOKAHEAD` bytes are known to be equal.
#[inline(always)]
fn common(input: &[u8], from: usize, at: usize, most: usize) -> usize {
    let mut len = LOOKAHEAD;
    while len + 8 <= most {
        let difference = load64(input, from + len) ^ load64(input, at + len);
        if difference != 0 {
            return len + (difference.trailing_zeros() / 8) as usize;
        }
        len += 8;
    }
    while len < most && input[from + len] == input[at + len] {
        len += 1;
    }
    len
}

#[inline(always)]
fn load32(input: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(input[at..at + 4].try_into().expect("four bytes"))
}

#[inline(always)]
fn load64(input: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(input[at..at + 8].try_into().expect("eight bytes"))
}
