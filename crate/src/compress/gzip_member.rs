//! One gzip member (RFC 1952), joined from segments, zeros and other bytes in the order of the output.
//!
//! Browsers reject a second member, so everything is blocks of one stream, with combined CRCs.

use super::encoding::{EncodedPart, fit};
use crate::error::Result;
use decant_codec::bit_writer::{BitWriter, SLACK, STORED};
use decant_codec::crc;

/// A header without name and time, made on an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty final block: a fixed block with only the end symbol.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Length of the zeros that are compressed once and written repeatedly, in bytes.
const ZERO_UNIT: u64 = 256 << 20;

/// The size of what is around the blocks of a member, in bytes.
pub const FRAME: u64 = (HEADER.len() + LAST_BLOCK.len() + 8) as u64;

/// An upper bound on the size of `len` bytes that are not compressed ([`GzipMember::bytes`]).
pub fn bytes_bound(len: u64) -> u64 {
    len + (len / STORED as u64 + 1) * 6 + SLACK as u64
}

/// An upper bound on the size of `len` zeros in at most `ranges` ranges, compressed ([`GzipMember::zeros`]).
pub fn zeros_bound(len: u64, ranges: u64) -> u64 {
    len / LONGEST_MATCH / 4 + (ranges + len / ZERO_UNIT) * (OVERHEAD + SLACK) as u64
}

/// A member being written. The caller must write what each call appends to `output`, and the compressed bytes of each
/// segment after counting it.
#[derive(Clone, Copy, Debug, Default)]
pub struct GzipMember {
    crc: u32,
    len: u64,
}

impl GzipMember {
    /// Appends the header.
    pub fn begin(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&HEADER);
    }

    /// Counts `segment`; its compressed bytes must be written next.
    pub fn segment(&mut self, segment: &EncodedPart) {
        self.add(segment.crc, segment.len);
    }

    /// Appends a few bytes, uncompressed. Fails with `internal` if memory runs out.
    pub fn bytes(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<()> {
        let before = output.len();
        fit(output, before + bytes_bound(bytes.len() as u64) as usize)?;
        let mut bits = BitWriter::new(&mut output[before..]);
        bytes.chunks(STORED).for_each(|part| bits.stored(part));
        let written = bits.written();
        output.truncate(before + written);
        self.add(crc::crc32(bytes), bytes.len() as u64);
        Ok(())
    }

    /// Counts `len` zeros, and returns them compressed. Takes bounded time, whatever `len` is. Fails with `internal`
    /// if memory runs out.
    pub fn zeros(&mut self, len: u64) -> Result<Zeros> {
        self.add(crc::of_zeros(len), len);
        let mut last = Vec::new();
        append_zeros(len % ZERO_UNIT, &mut last)?;
        Ok(Zeros { units: len / ZERO_UNIT, last })
    }

    /// Appends the end of the stream and the trailer.
    pub fn end(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&LAST_BLOCK);
        output.extend_from_slice(&self.crc.to_le_bytes());
        // Modulo 2^32, by the specification.
        output.extend_from_slice(&(self.len as u32).to_le_bytes());
    }

    fn add(&mut self, crc: u32, len: u64) {
        self.crc = crc::joined(self.crc, crc, len);
        self.len += len;
    }
}

/// Compressed zeros.
pub struct Zeros {
    /// Number of times to write [`zero_unit`] first.
    pub units: u64,
    /// The remaining zeros, compressed; empty if there are none.
    pub last: Vec<u8>,
}

/// Returns `ZERO_UNIT` zeros, compressed to about 260 KB. Fails with `internal` if memory runs out.
pub fn zero_unit() -> Result<Vec<u8>> {
    let mut unit = Vec::new();
    append_zeros(ZERO_UNIT, &mut unit)?;
    Ok(unit)
}

/// The length of the longest match.
const LONGEST_MATCH: u64 = 258;
/// The header of a dynamic block (section 3.2.7) with these codes: 0 for a match of 258 bytes, 10 for a zero byte, 11
/// for the end, and 0 for distance 1. Each item is a value and its number of bits.
const ZEROS_HEADER: &[(u64, u32)] = &[
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
fn append_zeros(len: u64, output: &mut Vec<u8>) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let (matches, single) = ((len - 1) / LONGEST_MATCH, (len - 1) % LONGEST_MATCH + 1);
    let before = output.len();
    let room = before + (matches / 4) as usize + OVERHEAD + SLACK;
    fit(output, room)?;
    let mut bits = BitWriter::new(&mut output[before..]);
    let mut add = |&(value, count): &(u64, u32)| {
        bits.add(value, count);
        bits.flush();
    };
    ZEROS_HEADER.iter().for_each(&mut add);
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
