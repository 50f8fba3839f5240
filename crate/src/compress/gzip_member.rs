//! One gzip member (RFC 1952), joined from segments, zeros and other bytes in the order of the output.
//!
//! Browsers refuse a second member. So all are blocks of one stream, and their CRCs are combined.

use super::deflated_zeros;
use super::encoding::{Segment, fit};
use crate::error::Result;
use decant_codec::bits::{BitWriter, SLACK, STORED};
use decant_codec::crc;

/// No name, no time; made by "unknown".
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty block that is marked as the last one: a fixed block with the end symbol only.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Length of the zeros that are compressed once and written many times, in bytes.
const ZERO_UNIT: u64 = 256 << 20;

/// A member that is being made. The caller writes what each call appends to `output`, and the compressed bytes of each
/// segment when it counts that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Member {
    crc: u32,
    len: u64,
}

impl Member {
    /// Appends the header of the member.
    pub fn begin(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&HEADER);
    }

    /// Counts `segment`, whose compressed bytes are written next.
    pub fn segment(&mut self, segment: &Segment) {
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

    /// Counts `len` zeros, and returns how to write them. It takes the same time for any `len`. Fails with
    /// `internal` if memory runs out.
    pub fn zeros(&mut self, len: u64) -> Result<Zeros> {
        self.add(crc::of_zeros(len), len);
        let mut last = Vec::new();
        deflated_zeros::append(len % ZERO_UNIT, &mut last)?;
        Ok(Zeros { units: len / ZERO_UNIT, last })
    }

    /// Appends the end of the stream and the trailer of the member.
    pub fn end(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&LAST_BLOCK);
        output.extend_from_slice(&self.crc.to_le_bytes());
        // Modulo 2^32, as the format has it.
        output.extend_from_slice(&(self.len as u32).to_le_bytes());
    }

    fn add(&mut self, crc: u32, len: u64) {
        self.crc = crc::joined(self.crc, crc, len);
        self.len += len;
    }
}

/// How zeros are written.
pub struct Zeros {
    /// The number of times that [`zero_unit`] is written first.
    pub units: u64,
    /// The remaining zeros, compressed. Empty if there are none.
    pub last: Vec<u8>,
}

/// `ZERO_UNIT` zeros, compressed to some 260 KB. Fails with `internal` if memory runs out.
pub fn zero_unit() -> Result<Vec<u8>> {
    let mut unit = Vec::new();
    deflated_zeros::append(ZERO_UNIT, &mut unit)?;
    Ok(unit)
}
