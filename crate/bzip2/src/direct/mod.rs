//! Decodes by the library libbz2-rs-sys.

mod divider;
mod stream;
#[cfg(test)]
mod tests;

pub use divider::Bzip2Divider;

use crate::MAGIC;
use decant_module::{Buffers, CodecDecoder, Fault, Step, StreamDecoder};
use stream::Bzip2Stream;

/// The size of blocks at level 1, in bytes. The header of a stream states a level from 1 to 9.
const BLOCK_UNIT: usize = 100_000;
/// The rest of a stream without data: the end mark, and the checksum of nothing.
const NO_DATA: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];
/// Length of a stream without data, in bytes. No stream is shorter.
const SHORTEST: usize = MAGIC.len() + 1 + NO_DATA.len();

/// Decodes consecutive bzip2 streams as one. Their checksums are verified. Zeros may follow the last stream.
#[derive(Default)]
pub struct Bzip2Decoder {
    /// The first bytes of a stream that has not begun.
    head: [u8; SHORTEST],
    /// The number of bytes in `head`.
    held: usize,
    /// The stream that has begun.
    stream: Option<Bzip2Stream>,
    /// Whether a stream has ended.
    has_ended: bool,
    /// Whether zeros follow the last stream.
    is_padded: bool,
}

impl Bzip2Decoder {
    /// Decodes until the input is used or the output is full. Returns whether every stream that began has ended.
    fn run(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        loop {
            if let Some(stream) = &mut self.stream {
                if !stream.decode(buffers)? {
                    return Ok(false);
                }
                (self.stream, self.has_ended) = (None, true);
            } else if buffers.input.is_empty() {
                return Ok(self.held == 0 && self.has_ended);
            } else if self.is_padded || self.has_ended && self.held == 0 && buffers.input[0] == 0 {
                self.is_padded = true;
                if buffers.input.iter().any(|&byte| byte != 0) {
                    return Err(Fault::Trailing);
                }
                buffers.input = &[];
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

    /// Begins the stream of `head`. A stream without data takes no memory: a file may have millions of them, and the library
    /// takes 64 KB for each.
    fn begin(&mut self) -> Result<(), Fault> {
        self.held = 0;
        if matches!(self.head[MAGIC.len()], b'1'..=b'9') && self.head.ends_with(&NO_DATA) {
            self.has_ended = true;
            return Ok(());
        }
        // The library takes all of it: any other stream is longer.
        let mut head = Buffers { input: &self.head, output: &mut [], written: 0 };
        self.stream.insert(Bzip2Stream::new()?).decode(&mut head)?;
        Ok(())
    }
}

impl StreamDecoder for Bzip2Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        Buffers::step(input, output, |buffers| self.run(buffers))
    }
}

impl CodecDecoder for Bzip2Decoder {
    type Divider = Bzip2Divider;
}
