//! Divides bzip2 streams into streams of one block each. Blocks begin at any bit, with a signature.

use super::BLOCK_UNIT;
use crate::{BLOCK, END, MAGIC};
use decant_module::{Buffers, Fault, Step, StreamDecoder};

/// Length of a signature.
const SIGNATURE_BITS: usize = 48;
const SIGNATURE: u64 = (1 << SIGNATURE_BITS) - 1;
/// Length of a checksum, which follows each signature.
const CHECKSUM_BITS: usize = 32;
/// Maximum length of a block, in bytes: a fifth more than the most data it has.
const LONGEST_BLOCK: usize = 1_100_000;

/// Whether a byte can be the fourth one from the end of a signature that ends at any bit of the last byte.
static CANDIDATES: [bool; 256] = candidates();

const fn candidates() -> [bool; 256] {
    let mut table = [false; 256];
    let mut shift = 0;
    while shift < 8 {
        table[(BLOCK >> (24 - shift)) as usize & 0xff] = true;
        table[(END >> (24 - shift)) as usize & 0xff] = true;
        shift += 1;
    }
    table
}

/// Divides consecutive streams. Their structure and checksums are verified, the data of blocks is not.
#[derive(Default)]
pub struct Bzip2Divider {
    next: Next,
    /// The digit in the header of the stream.
    level: u8,
    /// The bytes since the last signature, or since the header of the stream.
    held: Vec<u8>,
    /// The bit of the first byte in `held` at which the signature begins.
    start: usize,
    /// The last bytes of `held`.
    last: u64,
    /// The checksum of the stream so far.
    checksum: u32,
    /// The part being written, and how many of its bytes were written.
    part: Vec<u8>,
    written: usize,
    /// Whether a stream has ended.
    has_ended: bool,
}

/// The next structure in the input.
#[derive(Clone, Copy, Default)]
enum Next {
    #[default]
    Header,
    /// The first signature of a stream.
    First,
    /// The rest of a block, up to the next signature.
    Block,
    /// The checksum of a stream.
    Checksum,
    /// Zeros after the last stream.
    Padding,
}

impl StreamDecoder for Bzip2Divider {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        Buffers::step(input, output, |buffers| self.run(buffers))
    }
}

impl Bzip2Divider {
    /// Divides until the input is used, the output is full, or a part ends. Returns whether all that began has ended.
    fn run(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        loop {
            if !self.part.is_empty() {
                self.written += buffers.put(&self.part[self.written..]);
                if self.written < self.part.len() {
                    return Ok(false);
                }
                self.part.clear();
                return Ok(true);
            }
            let Some((&byte, rest)) = buffers.input.split_first() else {
                let is_between = matches!(self.next, Next::Header | Next::Padding) && self.held.is_empty();
                return Ok(is_between && self.has_ended);
            };
            buffers.input = rest;
            self.held.push(byte);
            self.last = self.last << 8 | u64::from(byte);
            match self.next {
                Next::Header if self.has_ended && self.held == [0] => {
                    self.held.clear();
                    self.next = Next::Padding;
                }
                Next::Header => self.header()?,
                Next::First => self.first()?,
                Next::Block if CANDIDATES[(self.last >> 24) as usize & 0xff] => self.signature()?,
                Next::Block if self.held.len() > LONGEST_BLOCK => return Err(Fault::Indivisible),
                Next::Block => {}
                Next::Checksum => self.end()?,
                Next::Padding if byte == 0 => self.held.clear(),
                Next::Padding => return Err(Fault::Trailing),
            }
        }
    }

    /// Reads the header of a stream.
    fn header(&mut self) -> Result<(), Fault> {
        if self.held.iter().zip(MAGIC).any(|(found, expected)| *found != expected) {
            return Err(if self.has_ended { Fault::Trailing } else { Fault::Invalid });
        }
        if let [_, _, _, level] = self.held[..] {
            if !level.is_ascii_digit() || level == b'0' {
                return Err(Fault::Invalid);
            }
            (self.level, self.checksum, self.start, self.next) = (level, 0, 0, Next::First);
            self.held.clear();
        }
        Ok(())
    }

    /// Reads the first signature of a stream.
    fn first(&mut self) -> Result<(), Fault> {
        if self.held.len() == SIGNATURE_BITS / 8 {
            self.next = following(self.last & SIGNATURE).ok_or(Fault::Invalid)?;
        }
        Ok(())
    }

    /// Ends the block if a signature has ended in the last byte.
    fn signature(&mut self) -> Result<(), Fault> {
        let found = (0..8).find_map(|shift| Some((shift, following(self.last >> shift & SIGNATURE)?)));
        let Some((shift, next)) = found else { return Ok(()) };
        let end = self.held.len() * 8 - shift - SIGNATURE_BITS;
        if end < self.start + SIGNATURE_BITS + CHECKSUM_BITS {
            return Err(Fault::Invalid);
        }
        self.divide(end);
        self.held.drain(..end / 8);
        (self.start, self.next) = (end % 8, next);
        Ok(())
    }

    /// Makes the block up to the bit `end` a part.
    fn divide(&mut self, end: usize) {
        let checksum = bits(&self.held, self.start + SIGNATURE_BITS, CHECKSUM_BITS) as u32;
        self.checksum = self.checksum.rotate_left(1) ^ checksum;
        let size = usize::from(self.level - b'0') * BLOCK_UNIT;
        self.part.extend_from_slice(&(size as u64).to_le_bytes());
        self.part.extend_from_slice(&MAGIC);
        self.part.push(self.level);
        let (whole, rest) = ((end - self.start) / 8, (end - self.start) % 8);
        let (high, low) = (self.start, 8 - self.start);
        let pairs = self.held.iter().zip(&self.held[1..]).take(whole);
        self.part.extend(pairs.map(|(&byte, &next)| (u16::from(byte) << high | u16::from(next) >> low) as u8));
        let last = bits(&self.held, end - rest, rest);
        let tail = u128::from(last) << SIGNATURE_BITS | u128::from(END);
        let tail = tail << CHECKSUM_BITS | u128::from(checksum);
        let len = rest + SIGNATURE_BITS + CHECKSUM_BITS;
        let tail = tail << (u128::BITS as usize - len);
        self.part.extend_from_slice(&tail.to_be_bytes()[..len.div_ceil(8)]);
        self.written = 0;
    }

    /// Ends the stream with the last byte of its checksum.
    fn end(&mut self) -> Result<(), Fault> {
        if self.held.len() < (self.start + SIGNATURE_BITS + CHECKSUM_BITS).div_ceil(8) {
            return Ok(());
        }
        if bits(&self.held, self.start + SIGNATURE_BITS, CHECKSUM_BITS) as u32 != self.checksum {
            return Err(Fault::Checksum);
        }
        self.held.clear();
        (self.next, self.has_ended) = (Next::Header, true);
        Ok(())
    }
}

/// What `signature` begins; `None` if it is neither of the two signatures.
fn following(signature: u64) -> Option<Next> {
    match signature {
        BLOCK => Some(Next::Block),
        END => Some(Next::Checksum),
        _ => None,
    }
}

/// Returns the `len` bits from the bit `start`, at most 56.
fn bits(bytes: &[u8], start: usize, len: usize) -> u64 {
    let end = start + len;
    let taken = bytes[start / 8..end.div_ceil(8)].iter().fold(0, |taken, &byte| taken << 8 | u64::from(byte));
    taken >> (end.next_multiple_of(8) - end) & ((1 << len) - 1)
}
