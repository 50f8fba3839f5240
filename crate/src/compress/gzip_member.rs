//! One gzip member (RFC 1952), joined from segments, zeros and other bytes in the order of the output.
//!
//! Browsers reject a second member, so everything is blocks of one stream, with combined CRCs.

use super::deflated_zeros;
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
        fit(output, before + bytes.len() + (bytes.len() / STORED + 1) * 6 + SLACK)?;
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
        deflated_zeros::append(len % ZERO_UNIT, &mut last)?;
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
    deflated_zeros::append(ZERO_UNIT, &mut unit)?;
    Ok(unit)
}
