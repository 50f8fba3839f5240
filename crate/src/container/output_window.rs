//! Decoded bytes on their way to the reader of a stream.

use crate::error::Result;
use crate::io::source::zeroed;

/// A buffer that a decoder fills and a reader empties.
pub(super) struct OutputWindow {
    pub(super) bytes: Vec<u8>,
    /// The end of the decoded bytes.
    pub(super) filled: usize,
    /// The start of the bytes that the reader has not taken.
    pub(super) given: usize,
}

impl OutputWindow {
    /// Creates an empty window of `len` bytes. Fails with `internal` if memory runs out.
    pub(super) fn new(len: usize) -> Result<Self> {
        Ok(Self { bytes: zeroed(len)?, filled: 0, given: 0 })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given == self.filled
    }

    /// Moves bytes to the start of `buf`, as many as fit. Returns their number.
    pub(super) fn take(&mut self, buf: &mut [u8]) -> usize {
        let len = buf.len().min(self.filled - self.given);
        buf[..len].copy_from_slice(&self.bytes[self.given..self.given + len]);
        self.given += len;
        len
    }
}
