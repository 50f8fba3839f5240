//! The header of a dynamic block: its two codes (section 3.2.7).

use super::huffman::Code;
use super::symbols::{DISTANCES, FIRST_LENGTH, LITERALS};
use decant_codec::bit_writer::BitWriter;

/// Number of code length symbols.
const SYMBOLS: usize = 19;
/// Maximum code length of such a symbol, in bits.
const LONGEST: usize = 7;
/// The order in which the code lengths of these symbols are written.
const ORDER: [usize; SYMBOLS] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Number of extra bits of the symbols from [`REPEAT`].
const EXTRA: [u32; 3] = [2, 3, 7];
/// Repeats the last length 3 to 6 times. The next two are 3 to 10, and 11 to 138 zeros.
const REPEAT: u8 = 16;
const ZEROS: u8 = 17;
const MANY_ZEROS: u8 = 18;

/// A symbol and the value of its extra bits.
type Item = (u8, u8);

pub(super) struct DynamicHeader {
    items: [Item; LITERALS + DISTANCES],
    len: usize,
    frequencies: [u32; SYMBOLS],
    code: Code<SYMBOLS>,
    /// Numbers of symbols written for the two codes, and of lengths written in [`ORDER`].
    literals: usize,
    distances: usize,
    ordered: usize,
}

impl DynamicHeader {
    pub(super) fn of(literals: &Code<LITERALS>, distances: &Code<DISTANCES>) -> Self {
        let used = |lens: &[u8], least: usize| least.max(lens.iter().rposition(|len| *len > 0).map_or(0, |at| at + 1));
        let literal_count = used(&literals.lens, FIRST_LENGTH);
        let distance_count = used(&distances.lens, 1);
        let mut header = Self {
            items: [(0, 0); LITERALS + DISTANCES],
            len: 0,
            frequencies: [0; SYMBOLS],
            code: Code::default(),
            literals: literal_count,
            distances: distance_count,
            ordered: 0,
        };
        // A run may continue from one code to the other.
        let mut lens = [0; LITERALS + DISTANCES];
        lens[..literal_count].copy_from_slice(&literals.lens[..literal_count]);
        let count = literal_count + distance_count;
        lens[literal_count..count].copy_from_slice(&distances.lens[..distance_count]);
        for run in lens[..count].chunk_by(|a, b| a == b) {
            header.run(run[0], run.len());
        }
        header.code = Code::of(&header.frequencies, LONGEST);
        header.ordered = ORDER.iter().rposition(|symbol| header.code.lens[*symbol] > 0).map_or(4, |at| (at + 1).max(4));
        header
    }

    fn run(&mut self, value: u8, mut count: usize) {
        if value == 0 {
            while count >= 11 {
                let now = count.min(138);
                self.item(MANY_ZEROS, now - 11);
                count -= now;
            }
            if count >= 3 {
                self.item(ZEROS, count - 3);
                count = 0;
            }
        } else if count >= 4 {
            self.item(value, 0);
            count -= 1;
            while count >= 3 {
                let now = count.min(6);
                self.item(REPEAT, now - 3);
                count -= now;
            }
        }
        for _ in 0..count {
            self.item(value, 0);
        }
    }

    fn item(&mut self, symbol: u8, extra: usize) {
        self.items[self.len] = (symbol, extra as u8);
        self.len += 1;
        self.frequencies[usize::from(symbol)] += 1;
    }

    /// The length of the header in bits.
    pub(super) fn cost(&self) -> u64 {
        let extra: u32 =
            EXTRA.iter().zip(&self.frequencies[usize::from(REPEAT)..]).map(|(bits, count)| bits * count).sum();
        14 + 3 * self.ordered as u64 + self.code.cost(&self.frequencies) + u64::from(extra)
    }

    pub(super) fn write(&self, bits: &mut BitWriter) {
        bits.add((self.literals - FIRST_LENGTH) as u64, 5);
        bits.add((self.distances - 1) as u64, 5);
        bits.add((self.ordered - 4) as u64, 4);
        for symbol in &ORDER[..self.ordered] {
            bits.flush();
            bits.add(u64::from(self.code.lens[*symbol]), 3);
        }
        for &(symbol, extra) in &self.items[..self.len] {
            bits.flush();
            let at = usize::from(symbol);
            bits.add(u64::from(self.code.bits[at]), u32::from(self.code.lens[at]));
            if symbol >= REPEAT {
                bits.add(u64::from(extra), EXTRA[usize::from(symbol - REPEAT)]);
            }
        }
        bits.flush();
    }
}
