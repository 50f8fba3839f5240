//! A decoder that is twice as fast as `bzip2`, mainly by its `inverse`. It accepts and refuses the same streams.

mod bits;
mod checksum;
mod codes;
mod divider;
mod header;
mod inverse;
mod memory;
mod randomised;
mod runs;
mod stream;
mod symbols;
#[cfg(test)]
mod tests;

pub use divider::Bzip2Divider;

use crate::MAGIC;
use decant_module::{Buffers, Fault, Module, Step, StreamDecoder, StreamFailure, StreamState};
use stream::Bzip2Stream;

/// The decoder is linked.
pub static MODULE: Module = Module::linked("bzip2");

/// The size of blocks that 1 in the header of a stream means, in bytes.
const BLOCK_UNIT: usize = 100_000;
/// The size of the largest blocks, in bytes.
const LARGEST_BLOCK: usize = 9 * BLOCK_UNIT;
/// The rest of a stream without data: the end mark, and the checksum of nothing.
const NO_DATA: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];
/// Length of a stream without data, in bytes. No stream is shorter.
const SHORTEST: usize = MAGIC.len() + 1 + NO_DATA.len();

/// Decodes consecutive bzip2 streams as one. Their checksums are verified.
#[derive(Default)]
pub struct Bzip2Decoder {
    /// The first bytes of a stream that has not begun.
    head: [u8; SHORTEST],
    /// The number of bytes in `head`.
    held: usize,
    /// The stream that has begun, or the memory of the last one.
    stream: Option<Bzip2Stream>,
    /// Whether a stream has begun and not ended.
    is_inside: bool,
    /// Whether a stream has ended.
    has_ended: bool,
}

impl Bzip2Decoder {
    /// Creates a decoder.
    pub fn new() -> Result<Self, StreamFailure> {
        Ok(Self::default())
    }

    fn run(&mut self, buffers: &mut Buffers<'_>) -> Result<StreamState, Fault> {
        loop {
            if self.is_inside
                && let Some(stream) = &mut self.stream
            {
                if !stream.decode(buffers)? {
                    return Ok(StreamState::Inside);
                }
                (self.is_inside, self.has_ended) = (false, true);
            } else if buffers.input.is_empty() {
                let is_whole = self.held == 0 && self.has_ended;
                return Ok(if is_whole { StreamState::Whole } else { StreamState::Inside });
            } else if self.fill_head(buffers)? {
                self.begin()?;
            }
        }
    }

    /// Moves the first bytes of a stream from the input to `head`. Returns whether it is full.
    fn fill_head(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        let len = buffers.input.len().min(SHORTEST - self.held);
        let (found, rest) = buffers.input.split_at(len);
        self.head[self.held..self.held + len].copy_from_slice(found);
        (buffers.input, self.held) = (rest, self.held + len);
        if self.head.iter().zip(MAGIC).take(self.held).any(|(found, expected)| *found != expected) {
            return Err(if self.has_ended { Fault::Trailing } else { Fault::Invalid });
        }
        Ok(self.held == SHORTEST)
    }

    /// Begins the stream of `head`. A stream without data takes no memory: a file may have millions of them.
    fn begin(&mut self) -> Result<(), Fault> {
        self.held = 0;
        let [_, _, _, level @ b'1'..=b'9', rest @ ..] = &self.head else { return Err(Fault::Invalid) };
        if *rest == NO_DATA {
            self.has_ended = true;
            return Ok(());
        }
        let stream = Bzip2Stream::begin(&mut self.stream, usize::from(level - b'0') * BLOCK_UNIT)?;
        self.is_inside = true;
        // The stream takes all of it: any other is longer.
        let mut head = Buffers { input: rest, output: &mut [], written: 0 };
        stream.decode(&mut head)?;
        Ok(())
    }
}

impl StreamDecoder for Bzip2Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        Buffers::step(input, output, |buffers| self.run(buffers))
    }
}
