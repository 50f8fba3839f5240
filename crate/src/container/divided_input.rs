//! Divides a compressed file into parts that decode independently.

use super::compressed_input::CompressedInput;
use crate::error::Result;
use crate::io::stream::ByteStream;
use decant_module::{LARGEST_PART, StreamDecoder, StreamState};

/// Maximum length of the input of a step, in bytes: it is copied to the module.
const INPUT: usize = 64 << 10;
/// Maximum length of the output of a step, in bytes.
const OUTPUT: usize = 64 << 10;

/// A compressed file that is being divided.
pub(super) struct DividedInput {
    input: CompressedInput,
    divider: Box<dyn StreamDecoder>,
}

impl DividedInput {
    /// Divides `stream` by `divider`. Fails with `internal` if memory runs out.
    pub(super) fn new(stream: Box<dyn ByteStream>, divider: Box<dyn StreamDecoder>) -> Result<Self> {
        Ok(Self { input: CompressedInput::new(stream, 0)?, divider })
    }

    /// Returns the next part; `None` at the end.
    pub(super) async fn next(&mut self) -> std::result::Result<Option<Vec<u8>>, Indivisible> {
        let mut part = Vec::new();
        loop {
            let start = part.len();
            if start as u64 > LARGEST_PART {
                return Err(Indivisible);
            }
            part.try_reserve(OUTPUT).map_err(|_| Indivisible)?;
            part.resize(start + OUTPUT, 0);
            let buffered = self.input.buffered();
            let input = &buffered[..buffered.len().min(INPUT)];
            let step = self.divider.decode(input, &mut part[start..]);
            let has_input = !input.is_empty();
            part.truncate(start + step.written as usize);
            self.input.consume(step.consumed as usize).map_err(|_| Indivisible)?;
            match step.state {
                StreamState::Failed(_) => return Err(Indivisible),
                StreamState::Whole if !part.is_empty() => return Ok(Some(part)),
                _ if step.consumed > 0 || step.written > 0 => {}
                StreamState::Whole if self.input.has_ended() && !has_input => return Ok(None),
                _ if has_input => return Err(Indivisible),
                _ => self.input.read_more().await.map_err(|_| Indivisible)?,
            }
        }
    }

    /// See [`ByteStream::file_position`].
    pub(super) fn file_position(&self) -> u64 {
        self.input.file_position()
    }
}

/// The file must be decoded in order. That also reports any damage.
pub(super) struct Indivisible;
