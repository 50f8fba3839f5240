//! One block: collects its symbols, then writes them in the cheapest block type.

use super::dynamic_header::DynamicHeader;
use super::huffman::Code;
use super::matches::Match;
use super::symbols::{
    DISTANCES, END, FIRST_LENGTH, LENGTH_EXTRA, LITERALS, LONGEST_MATCH, SHORTEST_MATCH, distance_extra,
    distance_extra_bits, distance_symbol, length_extra, length_symbol,
};
use super::table;
use crate::DeflateError;
use decant_codec::bit_writer::{BitWriter, STORED};

/// Maximum number of matches in a block.
const MATCHES: usize = 20_000;
/// Maximum code lengths, in bits, so that three literals, or a match, fit between two flushes.
const LONGEST_LITERAL: usize = 14;
const LONGEST_DISTANCE: usize = 15;

/// Block types other than stored, as in the block header.
const TYPE_FIXED: u64 = 1;
const TYPE_DYNAMIC: u64 = 2;
/// Number of bits for the last-block flag and the type.
const TYPE_BITS: u64 = 3;

/// Literals, followed by a match.
#[derive(Clone, Copy, Default)]
struct Sequence {
    literals: u32,
    len: u16,
    distance: u16,
}

/// The two codes of a block.
struct BlockCodes {
    literals: Code<LITERALS>,
    distances: Code<DISTANCES>,
}

/// A block whose symbols are not written yet.
pub(super) struct DeflateBlock {
    sequences: Box<[Sequence; MATCHES]>,
    len: usize,
    /// Number of literals since the last match.
    literals: u32,
    literal_counts: [u32; LITERALS],
    distance_counts: [u32; DISTANCES],
}

impl DeflateBlock {
    pub(super) fn new() -> Result<Self, DeflateError> {
        Ok(Self {
            sequences: table()?,
            len: 0,
            literals: 0,
            literal_counts: [0; LITERALS],
            distance_counts: [0; DISTANCES],
        })
    }

    pub(super) fn begin(&mut self) {
        self.len = 0;
        self.literals = 0;
        self.literal_counts.fill(0);
        self.distance_counts.fill(0);
    }

    #[inline(always)]
    pub(super) fn literal(&mut self, byte: u8) {
        self.literal_counts[usize::from(byte)] += 1;
        self.literals += 1;
    }

    /// Adds a match. The block must not be full.
    #[inline(always)]
    pub(super) fn matched(&mut self, Match { len, distance }: Match) {
        self.literal_counts[length_symbol(len)] += 1;
        self.distance_counts[distance_symbol(distance) % DISTANCES] += 1;
        self.sequences[self.len] =
            Sequence { literals: std::mem::take(&mut self.literals), len: len as u16, distance: distance as u16 };
        self.len += 1;
    }

    /// Number of literals since the last match, or since the start of the block.
    #[inline(always)]
    pub(super) fn literals_in_a_row(&self) -> usize {
        self.literals as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == MATCHES
    }

    /// Writes the block, whose symbols encode `input`. It is not marked as the last.
    pub(super) fn write(&mut self, input: &[u8], bits: &mut BitWriter) {
        self.literal_counts[END] = 1;
        let dynamic = BlockCodes {
            literals: Code::of(&self.literal_counts, LONGEST_LITERAL),
            distances: Code::of(&self.distance_counts, LONGEST_DISTANCE),
        };
        let header = DynamicHeader::of(&dynamic.literals, &dynamic.distances);
        let extra = self.extra();
        let fixed = BlockCodes::fixed();
        let dynamic_cost = header.cost() + dynamic.cost(self) + extra;
        let fixed_cost = fixed.cost(self) + extra;
        if stored_cost(input) <= TYPE_BITS + dynamic_cost.min(fixed_cost) {
            store(input, bits);
        } else if fixed_cost <= dynamic_cost {
            bits.add(TYPE_FIXED << 1, 3);
            self.symbols(input, &fixed, bits);
        } else {
            bits.add(TYPE_DYNAMIC << 1, 3);
            header.write(bits);
            self.symbols(input, &dynamic, bits);
        }
    }

    /// Total number of extra bits of all symbols.
    fn extra(&self) -> u64 {
        let lengths = LENGTH_EXTRA.iter().zip(&self.literal_counts[FIRST_LENGTH..]);
        let distances = self.distance_counts.iter().enumerate();
        lengths.map(|(&bits, &count)| u64::from(bits) * u64::from(count)).sum::<u64>()
            + distances.map(|(symbol, &count)| u64::from(distance_extra_bits(symbol)) * u64::from(count)).sum::<u64>()
    }

    fn symbols(&self, input: &[u8], codes: &BlockCodes, bits: &mut BitWriter) {
        let table = WordTable::of(codes);
        let mut input = input;
        for sequence in &self.sequences[..self.len] {
            let (literals, rest) = input.split_at(sequence.literals as usize);
            table.literals(literals, bits);
            table.matched(sequence, bits);
            input = &rest[usize::from(sequence.len)..];
        }
        table.literals(input, bits);
        table.literals[END].add(bits);
        bits.flush();
    }
}

impl BlockCodes {
    /// The fixed codes (section 3.2.6).
    fn fixed() -> Self {
        let mut lens = [8; LITERALS];
        lens[144..256].fill(9);
        lens[256..280].fill(7);
        Self { literals: Code::with_lens(lens), distances: Code::with_lens([5; DISTANCES]) }
    }

    fn cost(&self, block: &DeflateBlock) -> u64 {
        self.literals.cost(&block.literal_counts) + self.distances.cost(&block.distance_counts)
    }
}

/// Bits that are written together.
#[derive(Clone, Copy, Default)]
struct Word {
    bits: u32,
    count: u8,
}

impl Word {
    #[inline(always)]
    fn add(self, bits: &mut BitWriter) {
        bits.add(u64::from(self.bits), u32::from(self.count));
    }
}

/// The bits to write for each literal and length; for lengths, with the extra bits.
struct WordTable<'a> {
    literals: [Word; END + 1],
    lengths: [Word; LONGEST_MATCH + 1],
    distances: &'a Code<DISTANCES>,
}

impl<'a> WordTable<'a> {
    fn of(BlockCodes { literals: code, distances }: &'a BlockCodes) -> Self {
        let word = |symbol: usize| Word { bits: u32::from(code.bits[symbol]), count: code.lens[symbol] };
        let mut lengths = [Word::default(); LONGEST_MATCH + 1];
        for (len, place) in lengths.iter_mut().enumerate().skip(SHORTEST_MATCH) {
            let symbol = length_symbol(len);
            let Word { bits, count } = word(symbol);
            *place = Word {
                bits: bits | u32::from(length_extra(len)) << count,
                count: count + LENGTH_EXTRA[symbol - FIRST_LENGTH],
            };
        }
        Self { literals: std::array::from_fn(word), lengths, distances }
    }

    #[inline(always)]
    fn literals(&self, bytes: &[u8], bits: &mut BitWriter) {
        let mut threes = bytes.chunks_exact(3);
        for three in &mut threes {
            for &byte in three {
                self.literals[usize::from(byte)].add(bits);
            }
            bits.flush();
        }
        for &byte in threes.remainder() {
            self.literals[usize::from(byte)].add(bits);
        }
        bits.flush();
    }

    #[inline(always)]
    fn matched(&self, sequence: &Sequence, bits: &mut BitWriter) {
        self.lengths[usize::from(sequence.len)].add(bits);
        let distance = usize::from(sequence.distance);
        let symbol = distance_symbol(distance) % DISTANCES;
        let extra = distance_extra_bits(symbol);
        let code = u64::from(self.distances.bits[symbol]);
        let count = u32::from(self.distances.lens[symbol]);
        bits.add(code | distance_extra(distance, extra) << count, count + extra);
        bits.flush();
    }
}

/// Maximum size of `input`, which must not be empty, in stored blocks, in bits. Each block has its first bits, padding
/// to a byte, and its length twice.
fn stored_cost(input: &[u8]) -> u64 {
    (input.len().div_ceil(STORED) as u64) * (TYPE_BITS + 7 + 32) + input.len() as u64 * 8
}

/// Writes `input` as stored blocks, none marked as the last.
fn store(input: &[u8], bits: &mut BitWriter) {
    for part in input.chunks(STORED) {
        bits.stored(part);
    }
}
