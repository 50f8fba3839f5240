//! Generates deflate data for zeros, without searching for matches.

use super::encoding::fit;
use crate::error::Result;
use decant_codec::bit_writer::{BitWriter, SLACK};

/// The length of the longest match.
const MATCH: u64 = 258;
/// The header of a dynamic block (section 3.2.7) with these codes: 0 for a match of 258 bytes, 10 for a zero byte, 11
/// for the end, and 0 for distance 1. Each item is a value and its number of bits.
const HEADER: &[(u64, u32)] = &[
    // Not the last block, dynamic; 286 literal/length codes, 2 distance codes, 18 code length codes.
    (0, 1),
    (2, 2),
    (286 - 257, 5),
    (2 - 1, 5),
    (18 - 4, 4),
    // In the order of the specification, 18 is third and 2 is sixteenth with two bits each, 1 is last with one bit.
    (0, 6),
    (2, 3),
    (0, 36),
    (2, 3),
    (0, 3),
    (1, 3),
    // So 1 is coded as 0, 2 as 10, and 18 as 11 with seven extra bits. First the zero byte: length 2.
    (0b01, 2),
    // 255 unused literals: 138 and 117.
    (0b11, 2),
    (138 - 11, 7),
    (0b11, 2),
    (117 - 11, 7),
    // The end: length 2. 28 unused lengths. The longest match: length 1. Two distances: length 1 each.
    (0b01, 2),
    (0b11, 2),
    (28 - 11, 7),
    (0, 3),
];
/// Codes start at the lowest bit.
const ZERO: (u64, u32) = (0b01, 2);
const END: (u64, u32) = (0b11, 2);
/// Maximum size of everything but the matches, in bytes: the header, 258 zero bytes, the end and the sync point.
const OVERHEAD: usize = 100;

/// Appends `len` compressed zeros to `output`, 2 bits for every 258, in blocks that end at a sync point. Fails with
/// `internal` if memory runs out.
pub(crate) fn append(len: u64, output: &mut Vec<u8>) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let (matches, single) = ((len - 1) / MATCH, (len - 1) % MATCH + 1);
    let before = output.len();
    let room = before + (matches / 4) as usize + OVERHEAD + SLACK;
    fit(output, room)?;
    let mut bits = BitWriter::new(&mut output[before..]);
    let mut add = |&(value, count): &(u64, u32)| {
        bits.add(value, count);
        bits.flush();
    };
    HEADER.iter().for_each(&mut add);
    (0..single).for_each(|_| add(&ZERO));
    // A match is two zero bits.
    (0..matches / 16).for_each(|_| add(&(0, 32)));
    add(&(0, (matches % 16 * 2) as u32));
    add(&END);
    bits.stored(&[]);
    let written = bits.written();
    output.truncate(before + written);
    Ok(())
}
