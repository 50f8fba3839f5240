//! The compressor, by the ideas of libdeflate: hash chains, lazy matching by one position, and blocks that end where the
//! data changes.

mod block_split;
mod deflate_block;
mod dynamic_header;
mod huffman;
mod matches;
mod symbols;

use crate::DeflateError;
use block_split::Split;
use decant_codec::bit_writer::BitWriter;
use deflate_block::DeflateBlock;
use matches::{Effort, Match, MatchFinder};
use symbols::{SHORTEST_MATCH, WINDOW};

/// Maximum input of a block, in bytes. Its last match may exceed it.
const LONGEST_BLOCK: usize = 4 << 20;

/// Limits for the match at a position, and for a better one at the next position. Compared with gzip -6, programs take
/// 1.00 times the size and text 1.03 times; half as many candidates would take 1.01 and 1.06, in 0.83 times the time.
const FIRST: Effort = Effort { candidates: 8, enough: 32 };
const SECOND: Effort = Effort { candidates: 4, enough: 32 };
/// Matches of three bytes at a longer distance take more bits than literals.
const FAR: usize = 4096;
/// After many literals without a match, positions are skipped: one more for every `LITERALS_PER_SKIP` consecutive literals, up
/// to `MOST_SKIPPED`. This reduces the time for compressed or encrypted data to a fifth.
const LITERALS_PER_SKIP: usize = 256;
const MOST_SKIPPED: usize = 7;
/// An empty final block (section 3.2.6): the last-block flag, the fixed type, and the end symbol.
const FINAL_BLOCK: (u64, u32) = (0b011, 10);

/// A compressor. It takes about 300 KB of memory, which it allocates on first use, and should be reused.
#[derive(Default)]
pub struct Deflater {
    tables: Option<Tables>,
}

impl Deflater {
    /// Compresses `input` into `output`, which must have at least [`bound`](crate::bound) bytes. Returns the length of
    /// the result: blocks, none marked as the last, and an empty stored block, which leaves the position byte-aligned.
    /// The blocks refer to nothing before `input`. Equal input gives equal output.
    pub fn segment(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, DeflateError> {
        let mut bits = BitWriter::new(output);
        self.tables()?.write_blocks(input, WINDOW, &mut bits);
        bits.stored(&[]);
        Ok(bits.written())
    }

    /// Compresses `input` into `output` as [`Deflater::segment`] does, but to a whole stream, whose matches reach back
    /// at most `window` bytes. `window` must be at most 32 KiB.
    pub fn stream(&mut self, input: &[u8], window: usize, output: &mut [u8]) -> Result<usize, DeflateError> {
        let mut bits = BitWriter::new(output);
        self.tables()?.write_blocks(input, window, &mut bits);
        let (value, count) = FINAL_BLOCK;
        bits.add(value, count);
        bits.align();
        Ok(bits.written())
    }

    fn tables(&mut self) -> Result<&mut Tables, DeflateError> {
        Ok(match &mut self.tables {
            Some(tables) => tables,
            none => none.insert(Tables { finder: MatchFinder::new()?, block: DeflateBlock::new()? }),
        })
    }
}

/// The memory of a compressor.
struct Tables {
    finder: MatchFinder,
    block: DeflateBlock,
}

impl Tables {
    fn write_blocks(&mut self, input: &[u8], window: usize, bits: &mut BitWriter) {
        self.finder.begin(window);
        let mut at = 0;
        while at < input.len() {
            let start = at;
            self.block.begin();
            at = self.parse(input, start);
            self.block.write(&input[start..at], bits);
        }
    }

    /// Collects the block that begins at `start`. Returns its end.
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
                // Unless the first match was long enough, the loop has already added the second position.
                let entered = if found.len < FIRST.enough { 2 } else { 1 };
                finder.skip(input, at + entered, at + found.len, found.distance);
                at += found.len;
            } else {
                let skipped = (block.literals_in_a_row() / LITERALS_PER_SKIP).min(MOST_SKIPPED);
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

/// Whether `next` is worth a literal before it. An additional byte is worth about four bits, and so is a distance
/// shorter by four bits.
#[inline(always)]
fn is_better(next: Match, found: Match) -> bool {
    let bits = |distance: usize| distance.checked_ilog2().unwrap_or(0) as i32;
    next.distance > 0
        && next.len >= found.len
        && 4 * (next.len - found.len) as i32 + bits(found.distance) - bits(next.distance) > 2
}

/// Allocates a table of zeros. Fails if memory runs out.
fn table<T: Clone + Default, const N: usize>() -> Result<Box<[T; N]>, DeflateError> {
    let mut entries = Vec::new();
    entries.try_reserve_exact(N).map_err(|_| DeflateError::OutOfMemory)?;
    entries.resize(N, T::default());
    entries.into_boxed_slice().try_into().map_err(|_| DeflateError::OutOfMemory)
}
