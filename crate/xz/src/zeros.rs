//! Makes blocks of zeros, without the encoder of LZMA2.
//!
//! The data is one literal, and matches of the byte before. LZMA has no specification but its code; the names are those of
//! the LZMA SDK's `lzma-specification.txt`.

use crate::UNIT;
use crate::crc64::Crc64;
use crate::stream::block_header;

/// The most bytes of data in a chunk of LZMA2.
const CHUNK: usize = 2 << 20;
/// The control bytes of a chunk that resets everything, and of one that resets nothing. The low bits are the highest bits of the
/// chunk's size minus one.
const RESET_ALL: u8 = 0xe0;
const RESET_NOTHING: u8 = 0x80;
/// The property byte without context bits: `lc`, `lp` and `pb` are 0.
const PROPERTIES: u8 = 0;
/// The longest match, and the shortest that has not a bit tree of the lower kinds, in bytes.
const LONGEST_MATCH: usize = 273;
const LEAST_HIGH: usize = 18;
const LEAST_MIDDLE: usize = 10;
const LEAST_MATCH: usize = 2;
/// The states after a literal, a match after a literal, and a match after a match; after a single byte, the same with 9.
const AFTER_LITERAL: usize = 0;
const AFTER_FIRST: usize = 8;
const AFTER_FIRST_BYTE: usize = 9;
const AFTER_MATCH: usize = 11;

/// Returns a block of `len` zeros. `len` must not be 0.
pub fn zero_block(len: u32) -> Vec<u8> {
    let data = lzma2(len as usize);
    let header = block_header(data.len() as u64, len.into());
    let mut block = [header, data].concat();
    block.resize(block.len().next_multiple_of(UNIT), 0);
    let mut check = Crc64::default();
    (0..len.div_ceil(CHECKED))
        .for_each(|part| check.add(&[0; CHECKED as usize][..(len - part * CHECKED).min(CHECKED) as usize]));
    block.extend_from_slice(&check.value().to_le_bytes());
    block
}

/// Number of zeros that are added to the check at once.
const CHECKED: u32 = 64 << 10;

/// `len` zeros in chunks of LZMA2, and its end.
fn lzma2(len: usize) -> Vec<u8> {
    let mut model = Model::default();
    let mut output = Vec::new();
    for start in (0..len).step_by(CHUNK) {
        let size = (len - start).min(CHUNK);
        let packed = model.chunk(size, start == 0);
        let control = if start == 0 { RESET_ALL } else { RESET_NOTHING };
        output.push(control | ((size - 1) >> 16) as u8);
        output.extend_from_slice(&((size - 1) as u16).to_be_bytes());
        output.extend_from_slice(&((packed.len() - 1) as u16).to_be_bytes());
        if start == 0 {
            output.push(PROPERTIES);
        }
        output.extend_from_slice(&packed);
    }
    output.push(0);
    output
}

/// An adaptive probability that a bit is 0, in units of 2^-11.
#[derive(Clone, Copy)]
struct Probability(u16);

impl Default for Probability {
    fn default() -> Self {
        Self(1 << 10)
    }
}

/// The probabilities that zeros use.
struct Model {
    state: usize,
    is_match: [Probability; 12],
    is_rep: [Probability; 12],
    is_rep_g0: [Probability; 12],
    is_rep0_long: [Probability; 12],
    literal: [Probability; 256],
    choices: [Probability; 2],
    low: [Probability; 8],
    middle: [Probability; 8],
    high: [Probability; 256],
}

impl Default for Model {
    fn default() -> Self {
        Self {
            state: AFTER_LITERAL,
            is_match: Default::default(),
            is_rep: Default::default(),
            is_rep_g0: Default::default(),
            is_rep0_long: Default::default(),
            literal: [Probability::default(); 256],
            choices: Default::default(),
            low: Default::default(),
            middle: Default::default(),
            high: [Probability::default(); 256],
        }
    }
}

impl Model {
    /// Encodes `size` zeros. The first chunk begins with a literal.
    fn chunk(&mut self, size: usize, is_first: bool) -> Vec<u8> {
        let mut coder = RangeEncoder::default();
        let mut left = size;
        if is_first {
            coder.bit(&mut self.is_match[self.state], false);
            coder.tree(&mut self.literal, 0, 8);
            left -= 1;
        }
        while left > 0 {
            let len = left.min(LONGEST_MATCH);
            self.matched(len, &mut coder);
            left -= len;
        }
        coder.finish()
    }

    /// Encodes a match of the byte before.
    fn matched(&mut self, len: usize, coder: &mut RangeEncoder) {
        let state = self.state;
        coder.bit(&mut self.is_match[state], true);
        coder.bit(&mut self.is_rep[state], true);
        coder.bit(&mut self.is_rep_g0[state], false);
        coder.bit(&mut self.is_rep0_long[state], len > 1);
        self.state = match (state, len) {
            (AFTER_LITERAL, 1) => AFTER_FIRST_BYTE,
            (AFTER_LITERAL, _) => AFTER_FIRST,
            _ => AFTER_MATCH,
        };
        match len {
            LEAST_HIGH.. => {
                coder.bit(&mut self.choices[0], true);
                coder.bit(&mut self.choices[1], true);
                coder.tree(&mut self.high, len - LEAST_HIGH, 8);
            }
            LEAST_MIDDLE.. => {
                coder.bit(&mut self.choices[0], true);
                coder.bit(&mut self.choices[1], false);
                coder.tree(&mut self.middle, len - LEAST_MIDDLE, 3);
            }
            LEAST_MATCH.. => {
                coder.bit(&mut self.choices[0], false);
                coder.tree(&mut self.low, len - LEAST_MATCH, 3);
            }
            _ => {}
        }
    }
}

/// The range encoder, which keeps the last byte and the `0xff` bytes after it until no carry can change them.
struct RangeEncoder {
    low: u64,
    range: u32,
    cache: u8,
    pending: u64,
    output: Vec<u8>,
}

impl Default for RangeEncoder {
    fn default() -> Self {
        Self { low: 0, range: u32::MAX, cache: 0, pending: 1, output: Vec::new() }
    }
}

impl RangeEncoder {
    fn bit(&mut self, probability: &mut Probability, bit: bool) {
        let bound = (self.range >> 11) * u32::from(probability.0);
        if bit {
            self.low += u64::from(bound);
            self.range -= bound;
            probability.0 -= probability.0 >> 5;
        } else {
            self.range = bound;
            probability.0 += ((1 << 11) - probability.0) >> 5;
        }
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Encodes the lowest `count` bits of `value`, the highest first, each in the context of those before.
    fn tree(&mut self, tree: &mut [Probability], value: usize, count: u32) {
        let mut node = 1;
        for place in (0..count).rev() {
            let bit = value >> place & 1;
            self.bit(&mut tree[node], bit == 1);
            node = node << 1 | bit;
        }
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > u64::from(u32::MAX) {
            let carry = (self.low >> 32) as u8;
            self.output.push(self.cache.wrapping_add(carry));
            (1..self.pending).for_each(|_| self.output.push(0xff_u8.wrapping_add(carry)));
            self.pending = 0;
            self.cache = (self.low >> 24) as u8;
        }
        self.pending += 1;
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    fn finish(mut self) -> Vec<u8> {
        (0..5).for_each(|_| self.shift());
        self.output
    }
}
