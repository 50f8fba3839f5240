//! One stream: its blocks and checksums.

use super::bits::Bits;
use super::checksum::crc32;
use super::header::Header;
use super::inverse::Inverse;
use super::randomised::restore;
use super::runs::Runs;
use super::symbols::Symbols;
use crate::{BLOCK, END};
use decant_module::{Buffers, Fault};

/// What comes next in the input, or is to be written.
#[derive(Clone, Copy)]
enum Next {
    /// The signature of a block, or of the end. The value is the number of its bytes that were read.
    Signature(u32),
    BlockChecksum,
    Header,
    Symbols,
    Text,
    StreamChecksum,
}

/// A stream with data. It is also the memory for the next one.
pub(super) struct Bzip2Stream {
    next: Next,
    bits: Bits,
    /// The bytes of the signature.
    signature: u64,
    /// The most bytes of a block, which the memory is for.
    limit: usize,
    /// The checksum that the header of the block states, and that of the bytes written so far.
    stated: u32,
    found: u32,
    /// The checksum of the stream so far.
    checksum: u32,
    header: Header,
    symbols: Symbols,
    inverse: Inverse,
    runs: Runs,
}

impl Bzip2Stream {
    /// Takes the memory for blocks of up to `limit` bytes.
    fn new(limit: usize) -> Result<Self, Fault> {
        Ok(Self {
            next: Next::Signature(0),
            bits: Bits::default(),
            signature: 0,
            limit,
            stated: 0,
            found: 0,
            checksum: 0,
            header: Header::default(),
            symbols: Symbols::new(limit)?,
            inverse: Inverse::new(limit)?,
            runs: Runs::new(limit)?,
        })
    }

    /// Begins a stream after its header, with blocks of up to `limit` bytes. Uses the memory of the stream `last` if it
    /// was for blocks of the same size.
    pub(super) fn begin(last: &mut Option<Self>, limit: usize) -> Result<&mut Self, Fault> {
        let kept = last.take().filter(|stream| stream.limit == limit);
        let stream = last.insert(kept.map_or_else(|| Self::new(limit), Ok)?);
        (stream.next, stream.bits) = (Next::Signature(0), Bits::default());
        (stream.signature, stream.checksum) = (0, 0);
        Ok(stream)
    }

    /// Decodes until the input is used, the output is full, or the stream ends. Returns whether it has ended.
    pub(super) fn decode(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        loop {
            let goes_on = match self.next {
                Next::Signature(read) => self.signature(read, &mut buffers.input)?,
                Next::BlockChecksum => self.block_checksum(&mut buffers.input),
                Next::Header => self.header(&mut buffers.input)?,
                Next::Symbols => self.symbols(&mut buffers.input)?,
                Next::Text => self.text(buffers)?,
                Next::StreamChecksum => match self.bits.take(32, &mut buffers.input) {
                    Some(checksum) if checksum == self.checksum => return Ok(true),
                    Some(_) => return Err(Fault::Invalid),
                    None => false,
                },
            };
            if !goes_on {
                return Ok(false);
            }
        }
    }

    /// Reads a byte of a signature.
    fn signature(&mut self, read: u32, input: &mut &[u8]) -> Result<bool, Fault> {
        let Some(byte) = self.bits.take(8, input) else { return Ok(false) };
        self.signature = self.signature << 8 | u64::from(byte);
        let read = read + 1;
        let is_start_of = |signature| signature >> (48 - read * 8) == self.signature;
        self.next = match (is_start_of(BLOCK), is_start_of(END), read) {
            (true, _, 6) => Next::BlockChecksum,
            (_, true, 6) => Next::StreamChecksum,
            (false, false, _) => return Err(Fault::Invalid),
            _ => Next::Signature(read),
        };
        Ok(true)
    }

    fn block_checksum(&mut self, input: &mut &[u8]) -> bool {
        let Some(checksum) = self.bits.take(32, input) else { return false };
        (self.stated, self.found, self.next) = (checksum, 0, Next::Header);
        true
    }

    fn header(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        let ended = self.header.read(&mut self.symbols, &mut self.bits, input)?;
        if ended {
            self.next = Next::Symbols;
        }
        Ok(ended)
    }

    /// Decodes the symbols of a block, and makes the text if they have ended.
    fn symbols(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        if !self.symbols.decode(&mut self.bits, input)? {
            return Ok(false);
        }
        let (column, text) = (&mut self.symbols.column, &mut self.runs.text);
        let len = column.len;
        if self.header.origin as usize >= len {
            return Err(Fault::Invalid);
        }
        self.inverse.invert(&mut column.bytes, len, &column.counts, self.header.origin, text);
        if self.header.is_randomised {
            restore(&mut text[..len]);
        }
        self.runs.begin(len);
        self.next = Next::Text;
        Ok(true)
    }

    /// Writes the text of a block.
    fn text(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        let start = buffers.written;
        let ended = self.runs.write(buffers)?;
        self.found = crc32(self.found, &buffers.output[start..buffers.written]);
        if !ended {
            return Ok(false);
        }
        if self.found != self.stated {
            return Err(Fault::Invalid);
        }
        self.checksum = self.checksum.rotate_left(1) ^ self.found;
        (self.next, self.signature) = (Next::Signature(0), 0);
        Ok(true)
    }
}
