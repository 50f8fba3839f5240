//! The index of a stream (the .xz file format, section 4), which repeats the sizes of its blocks.

use super::integer::Integer;
use crate::UNIT;
use crate::crc64::Crc64;
use decant_codec::crc;
use decant_module::Fault;

/// The sizes of blocks: their number, sums and hash, not a list, which would grow with the file.
#[derive(Default)]
pub(super) struct Records {
    count: u64,
    /// Sums, modulo 2^64.
    unpadded: u64,
    data: u64,
    hash: Crc64,
}

impl Records {
    pub(super) fn add(&mut self, unpadded: u64, data: u64) {
        self.count += 1;
        self.unpadded = self.unpadded.wrapping_add(unpadded);
        self.data = self.data.wrapping_add(data);
        self.hash.add(&unpadded.to_le_bytes());
        self.hash.add(&data.to_le_bytes());
    }

    fn is_same(&self, other: &Self) -> bool {
        let sums = |records: &Self| (records.count, records.unpadded, records.data, records.hash.value());
        sums(self) == sums(other)
    }
}

/// A partly read index.
#[derive(Default)]
pub(super) struct Index {
    /// The number of records that it states, and those that have been read.
    count: Option<u64>,
    records: Records,
    /// The first size of a record, and the integer that is being read.
    unpadded: Option<u64>,
    integer: Integer,
    /// The bytes after the first one, a zero: their CRC-32, and their number.
    checksum: u32,
    read: u64,
}

impl Index {
    /// Adds `input` up to the checksum, and moves on. Returns whether the checksum begins.
    pub(super) fn add(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        let start = *input;
        while !self.is_complete() {
            let Some((&byte, rest)) = input.split_first() else { break };
            *input = rest;
            self.read += 1;
            self.add_byte(byte)?;
        }
        let added = &start[..start.len() - input.len()];
        self.checksum = crc::joined(self.checksum, crc::crc32(added), added.len() as u64);
        Ok(self.is_complete())
    }

    fn has_all_records(&self) -> bool {
        self.count == Some(self.records.count)
    }

    fn is_complete(&self) -> bool {
        self.has_all_records() && self.len().is_multiple_of(UNIT as u64)
    }

    fn add_byte(&mut self, byte: u8) -> Result<(), Fault> {
        if self.has_all_records() {
            return if byte == 0 { Ok(()) } else { Err(Fault::Invalid) };
        }
        let Some(value) = self.integer.add(byte)? else { return Ok(()) };
        match (self.count, self.unpadded.take()) {
            (None, _) => self.count = Some(value),
            (Some(_), None) => self.unpadded = Some(value),
            (Some(_), Some(unpadded)) => self.records.add(unpadded, value),
        }
        Ok(())
    }

    /// Fails unless it has the `checksum` and lists `blocks`.
    pub(super) fn verify(&self, blocks: &Records, checksum: &[u8]) -> Result<(), Fault> {
        let found = crc::joined(crc::crc32(&[0]), self.checksum, self.read);
        if found.to_le_bytes() != checksum {
            return Err(Fault::Checksum);
        }
        if self.records.is_same(blocks) { Ok(()) } else { Err(Fault::Size) }
    }

    /// Its length without the checksum, in bytes.
    pub(super) fn len(&self) -> u64 {
        1 + self.read
    }
}
