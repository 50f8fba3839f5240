//! Compression with deflate (RFC 1951) of whole stretches of bytes, after the ideas of libdeflate: hash chains, a look one
//! position ahead before a match is taken, and blocks that end where the data changes.

mod block;
mod header;
mod huffman;
mod matches;
mod split;
mod symbols;

use crate::OutOfMemory;
use crate::bits::{BitWriter, SLACK};
use block::Block;
use matches::{Effort, Match, MatchFinder};
use split::{SHORTEST_BLOCK, Split};
use symbols::SHORTEST_MATCH;

/// Upper bound on the input of a block, in bytes. Its last match may exceed it.
const LONGEST_BLOCK: usize = 4 << 20;
/// Upper bound on the bytes that a block adds to its input: its first bits, padding, the length of a stored block.
const BLOCK_OVERHEAD: usize = 10;

/// Limits for the match at a position, and for the one at the next position, which must be better. Programs take 1.00 times the
/// size of gzip -6, text 1.03 times; half as many candidates would take 1.01 and 1.06, in 0.83 times the time.
const FIRST: Effort = Effort { candidates: 8, enough: 32 };
const SECOND: Effort = Effort { candidates: 4, enough: 32 };
/// Matches of three bytes from further away than this take more bits than literals.
const FAR: usize = 4096;
/// After many literals without a match, positions are skipped: one more for each `PATIENCE` literals in a row, up to
/// `MOST_SKIPPED`. Data that is compressed or encrypted already takes a fifth of the time then.
const PATIENCE: usize = 256;
const MOST_SKIPPED: usize = 7;

/// A compressor. It takes about 300 KB of memory, and is kept from run to run.
pub struct Deflater {
    finder: MatchFinder,
    block: Block,
}

impl Deflater {
    /// Fails if memory runs out.
    pub fn new() -> Result<Self, OutOfMemory> {
        Ok(Self { finder: MatchFinder::new()?, block: Block::new()? })
    }

    /// Upper bound, in bytes, on what [`Deflater::deflate`] needs of its output for an input of `len` bytes.
    pub fn bound(len: usize) -> usize {
        // A block that is full has more bytes than the shortest; stored ones of 65,535 bytes are longer still.
        len.saturating_add((len / SHORTEST_BLOCK + 2) * BLOCK_OVERHEAD + SLACK)
    }

    /// Compresses `input` into `output`, which has at least `bound` bytes, and returns the length of the result: blocks, none
    /// marked as the last one, and an empty stored block, after which the position is aligned. They refer to nothing before
    /// `input`. The same input always gives the same output.
    pub fn deflate(&mut self, input: &[u8], output: &mut [u8]) -> usize {
        let mut bits = BitWriter::new(output);
        self.finder.clear();
        let mut at = 0;
        while at < input.len() {
            let start = at;
            self.block.begin();
            at = self.parse(input, start);
            self.block.write(&input[start..at], &mut bits);
        }
        bits.stored(&[]);
        bits.written()
    }

    /// Collects a block that begins at `start`, and returns its end.
    #[inline(never)]
    fn parse(&mut self, input: &[u8], start: usize) -> usize {
        let Self { finder, block } = self;
        let mut split = Split::default();
        let end = input.len().min(start + LONGEST_BLOCK);
        let mut at = start;
        while at < end && !block.is_full() {
            let mut found = finder.longest(input, at, SHORTEST_MATCH - 1, FIRST);
            if is_worth_it(found) {
                while found.len < FIRST.enough {
                    let next = finder.longest(input, at + 1, found.len - 1, SECOND);
                    if !is_better(next, found) {
                        break;
                    }
                    block.literal(input[at]);
                    split.literal(input[at]);
                    at += 1;
                    found = next;
                }
                block.matched(found);
                split.matched(found.len);
                // The position behind the match's first one was entered by the loop, except if it did not look there.
                let entered = if found.len < FIRST.enough { 2 } else { 1 };
                finder.skip(input, at + entered, at + found.len, found.distance);
                at += found.len;
            } else {
                let skipped = (block.literals_in_a_row() / PATIENCE).min(MOST_SKIPPED);
                for &byte in &input[at..end.min(at + 1 + skipped)] {
                    block.literal(byte);
                    split.literal(byte);
                    at += 1;
                }
            }
            if split.is_end(at - start, input.len() - at) {
                break;
            }
        }
        at
    }
}

#[inline(always)]
fn is_worth_it(found: Match) -> bool {
    found.len > SHORTEST_MATCH || found.len == SHORTEST_MATCH && found.distance <= FAR
}

/// Whether `next` is worth a literal before it. A byte more is worth about four bits, and so is a distance that has four
/// bits less.
#[inline(always)]
fn is_better(next: Match, found: Match) -> bool {
    let bits = |distance: usize| distance.checked_ilog2().unwrap_or(0) as i32;
    next.distance > 0
        && next.len >= found.len
        && 4 * (next.len - found.len) as i32 + bits(found.distance) - bits(next.distance) > 2
}

/// A table of zeros. Fails if memory runs out.
fn table<T: Clone + Default, const N: usize>() -> Result<Box<[T; N]>, OutOfMemory> {
    let failed = || OutOfMemory(N * size_of::<T>());
    let mut entries = Vec::new();
    entries.try_reserve_exact(N).map_err(|_| failed())?;
    entries.resize(N, T::default());
    entries.into_boxed_slice().try_into().map_err(|_| failed())
}
