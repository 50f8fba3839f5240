//! Reads the codes of a block: dynamic (section 3.2.7) or fixed (section 3.2.6).

use super::bit_reader::BitReader;
use super::tables::{DISTANCES, LITERALS};
use super::{BlockTables, InflateError};

/// Maximum length of the codes for code lengths, in bits.
const LENGTH_BITS: usize = 7;
/// The value after the last code of a complete code.
const COMPLETE: u32 = 1 << LENGTH_BITS;
/// The symbols of the code for code lengths, in the order of their stored lengths.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Maximum number of codes in a header: for literals and lengths, and for distances.
const MOST_LITERALS: usize = 286;
const MOST_DISTANCES: usize = 30;
const END_OF_BLOCK: usize = 256;

pub(super) fn fixed(codes: &mut BlockTables) {
    let mut lens = [8; LITERALS];
    lens[144..256].fill(9);
    lens[256..280].fill(7);
    let built = codes.literals.build_literals(&lens).and(codes.distances.build_distances(&[5; DISTANCES]));
    debug_assert!(built.is_ok());
}

/// Reads the header of a block and builds its tables.
pub(super) fn read(bits: &mut BitReader, codes: &mut BlockTables) -> Result<(), InflateError> {
    let literal_count = bits.take(5)? as usize + 257;
    let distance_count = bits.take(5)? as usize + 1;
    let length_count = bits.take(4)? as usize + 4;
    if literal_count > MOST_LITERALS || distance_count > MOST_DISTANCES {
        return Err(InflateError::Invalid);
    }
    let mut length_lens = [0; ORDER.len()];
    for &symbol in &ORDER[..length_count] {
        length_lens[symbol] = bits.take(3)? as u8;
    }
    let table = length_table(&length_lens)?;
    let mut lens = [0; MOST_LITERALS + MOST_DISTANCES];
    let lens = &mut lens[..literal_count + distance_count];
    let mut at = 0;
    while at < lens.len() {
        bits.refill();
        let (symbol, len) = table[bits.buffer as usize & ((1 << LENGTH_BITS) - 1)];
        bits.consume(u32::from(len))?;
        // All bits are taken before anything is rejected, as in zlib.
        let (value, count) = match symbol {
            0..16 => (symbol, 1),
            16 => {
                let count = 3 + bits.take(2)?;
                (*lens[..at].last().ok_or(InflateError::Invalid)?, count)
            }
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        lens.get_mut(at..at + count as usize).ok_or(InflateError::Invalid)?.fill(value);
        at += count as usize;
    }
    if lens[END_OF_BLOCK] == 0 {
        return Err(InflateError::Invalid);
    }
    codes.literals.build_literals(&lens[..literal_count])?;
    codes.distances.build_distances(&lens[literal_count..])
}

/// Builds the table of the code for code lengths: symbol and number of bits. The code must be complete or empty. If it
/// is empty, every length is 0 and takes a bit, as in zlib; the block then has no end symbol, and is rejected.
fn length_table(lens: &[u8; ORDER.len()]) -> Result<[(u8, u8); 1 << LENGTH_BITS], InflateError> {
    let mut table = [(0, 1); 1 << LENGTH_BITS];
    let mut code = 0u32;
    for len in 1..=LENGTH_BITS as u32 {
        code <<= 1;
        for symbol in (0..lens.len()).filter(|&symbol| u32::from(lens[symbol]) == len) {
            if code >> len != 0 {
                return Err(InflateError::Invalid);
            }
            let reversed = (code.reverse_bits() >> (32 - len)) as usize;
            for place in table[reversed..].iter_mut().step_by(1 << len) {
                *place = (symbol as u8, len as u8);
            }
            code += 1;
        }
    }
    if matches!(code, 0 | COMPLETE) { Ok(table) } else { Err(InflateError::Invalid) }
}
