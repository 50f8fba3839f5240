//! A decoder of raw deflate (RFC 1951) for whole buffers: all input is there, and the length of the output
//! is known. That is what a cluster is, and it makes the decoder simple and fast: no window, no state
//! between calls, and a loop that checks bounds once for several symbols.
//!
//! It uses nothing of the crate. [`Inflater::inflate`] is all of it: it fills the output and stops.
//!
//! # How it is fast
//!
//! - One table for literals and lengths, indexed by 11 bits, and one for distances, by 8; longer codes
//!   have subtables. An entry of 4 bytes holds the base of a length or distance, how many bits the code
//!   has, and how many it has with its extra bits: no second table is looked at (`tables`).
//! - A buffer of 64 bits, refilled by one load of 8 bytes: once for up to three literals and a length, and
//!   for a distance where it has to be, which is seldom. The next entry is looked up before that (`fast`).
//! - As long as input and output have room for the longest that a turn of the loop can do, nothing else is
//!   checked. Only the last bytes of a cluster are decoded with care (`careful`).
//! - Matches are copied in words of 16 bytes, past their end: what follows is overwritten.
//! - Tables are kept from cluster to cluster; those of the fixed codes are built only when others were.
//!
//! What did not help is in `docs/performance.md`.
//!
//! # What it is checked by
//!
//! Where it refuses a stream, zlib does so too: incomplete and over-full codes, a code without an end of
//! block, distances before the start. `tests/inflate.rs` and the fuzz target `inflate` compare with
//! miniz_oxide and zlib.

mod bits;
mod careful;
mod fast;
mod header;
mod tables;

use bits::Bits;
use tables::{DistanceTable, LiteralTable};

/// Why a stream could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// It breaks the rules of the format, or ends before the output is full.
    Invalid,
    /// The input ends before the stream does, and the output is not full.
    InputEnds,
}

/// The two codes of a block.
#[derive(Default)]
struct Codes {
    literals: LiteralTable,
    distances: DistanceTable,
}

/// Decoding tables, kept from one stream to the next.
#[derive(Default)]
pub struct Inflater {
    codes: Box<Codes>,
    /// Whether the tables are those of the fixed codes (section 3.2.6).
    fixed: bool,
}

/// What a block comes to.
enum Block {
    /// Its end; another one follows unless it was the last.
    Ended,
    /// The output is full.
    Full,
}

impl Inflater {
    /// Inflates the start of `input` until `output` is full. What follows is not looked at: neither the rest
    /// of the stream nor what stands behind it.
    pub fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), InflateError> {
        let mut bits = Bits::new(input);
        let mut filled = 0;
        while filled < output.len() {
            let is_last = bits.take(1)? == 1;
            let block = match bits.take(2)? {
                0 => stored(&mut bits, output, &mut filled)?,
                1 => {
                    self.load_fixed();
                    self.compressed(&mut bits, output, &mut filled)?
                }
                2 => {
                    self.fixed = false;
                    header::read(&mut bits, &mut self.codes)?;
                    self.compressed(&mut bits, output, &mut filled)?
                }
                _ => return Err(InflateError::Invalid),
            };
            match block {
                Block::Full => return Ok(()),
                Block::Ended if is_last && filled < output.len() => return Err(InflateError::Invalid),
                Block::Ended => {}
            }
        }
        Ok(())
    }

    fn load_fixed(&mut self) {
        if !self.fixed {
            header::fixed(&mut self.codes);
            self.fixed = true;
        }
    }

    /// The symbols of a block.
    fn compressed(&self, bits: &mut Bits, output: &mut [u8], filled: &mut usize) -> Result<Block, InflateError> {
        if fast::run(bits, output, filled, &self.codes)? {
            return Ok(Block::Ended);
        }
        careful::run(bits, output, filled, &self.codes)
    }
}

/// A block that is not compressed (section 3.2.4).
fn stored(bits: &mut Bits, output: &mut [u8], filled: &mut usize) -> Result<Block, InflateError> {
    let rest = bits.align();
    let (head, data) = rest.split_first_chunk::<4>().ok_or(InflateError::InputEnds)?;
    let [len, complement] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_le_bytes);
    if len != !complement {
        return Err(InflateError::Invalid);
    }
    let room = &mut output[*filled..];
    let wanted = usize::from(len).min(room.len());
    room[..wanted].copy_from_slice(data.get(..wanted).ok_or(InflateError::InputEnds)?);
    *filled += wanted;
    if *filled == output.len() {
        return Ok(Block::Full);
    }
    bits.skip_bytes(4 + wanted);
    Ok(Block::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small enough for Miri, which checks what is unsafe: matches of several distances, literals in a row,
    /// stored and fixed blocks.
    #[test]
    fn every_way_of_the_loop() {
        let mut inflater = Inflater::default();
        for period in [1, 2, 3, 7, 8, 9, 15, 16, 17, 40, 300] {
            let text: Vec<u8> = (0..1200).map(|at| (at % period * 37 + at / 400 * 3) as u8).collect();
            for level in [0, 1, 9] {
                let stream = miniz_oxide::deflate::compress_to_vec(&text, level);
                for len in [text.len(), text.len() - 7, 293, 294, 1] {
                    let mut output = vec![0; len];
                    inflater.inflate(&stream, &mut output).unwrap();
                    assert!(output == text[..len], "period {period}, level {level}, {len} bytes");
                }
            }
        }
    }
}
