//! The buffers of one call of a stream decoder.

use crate::{Fault, Step, StreamState};

/// The input that is left, and the output with the number of bytes written.
pub struct Buffers<'a> {
    /// The input that is left.
    pub input: &'a [u8],
    /// All of the output.
    pub output: &'a mut [u8],
    /// The number of bytes that were written to the output.
    pub written: usize,
}

impl Buffers<'_> {
    /// Lets `run` use `input` and `output`. Returns the progress, with the state that `run` returns.
    pub fn step(
        input: &[u8],
        output: &mut [u8],
        run: impl FnOnce(&mut Buffers<'_>) -> Result<StreamState, Fault>,
    ) -> Step {
        let mut buffers = Buffers { input, output, written: 0 };
        let state = run(&mut buffers).unwrap_or_else(StreamState::Failed);
        let consumed = input.len() - buffers.input.len();
        Step { consumed: consumed as u32, written: buffers.written as u32, state, window: 0 }
    }

    /// Writes the first of `bytes`, as many as fit. Returns their number.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let room = &mut self.output[self.written..];
        let len = bytes.len().min(room.len());
        room[..len].copy_from_slice(&bytes[..len]);
        self.written += len;
        len
    }

    /// Moves up to `len` bytes from the input to the output. Returns their number.
    pub fn copy(&mut self, len: usize) -> usize {
        let input = self.input;
        let copied = self.put(&input[..input.len().min(len)]);
        self.input = &input[copied..];
        copied
    }
}
