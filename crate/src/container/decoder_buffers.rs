//! The buffers of a decoder: its input, which is a stream read in large parts, and its decoded bytes on their way to the reader.

use crate::compress::is_zero;
use crate::error::{Error, Result};
use crate::io::source::zeroed;
use crate::io::stream::{ByteStream, Ended};
use crate::offsets::HostOffset;

/// Size of the buffer, in bytes.
const INPUT: usize = 256 << 10;

/// The compressed bytes of a container.
pub(super) struct CompressedInput {
    stream: Box<dyn ByteStream>,
    /// Holds input from `next` to `end`, followed by the lookahead if the stream has ended.
    bytes: Vec<u8>,
    next: usize,
    end: usize,
    has_ended: bool,
    lookahead: usize,
    /// The stream offset of the start of `bytes`.
    before: u64,
}

impl CompressedInput {
    /// Reads `stream`, and adds `lookahead` zeros after its end.
    pub(super) fn new(stream: Box<dyn ByteStream>, lookahead: usize) -> Result<Self> {
        let bytes = zeroed(INPUT + lookahead)?;
        Ok(Self { stream, bytes, next: 0, end: 0, has_ended: false, lookahead, before: 0 })
    }

    /// The stream offset of the next byte, for messages.
    pub(super) fn position(&self) -> HostOffset {
        HostOffset(self.before + self.next as u64)
    }

    pub(super) fn truncated(&self) -> Error {
        let size = self.before + self.end as u64;
        Error::truncated("the rest of the compressed data", HostOffset(size), size)
    }

    /// Whether the stream ends fewer than `len` bytes after the next byte.
    pub(super) fn ends_within(&self, len: usize) -> bool {
        self.has_ended && self.next + len > self.end
    }

    /// Whether all of the stream is buffered.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Buffered input.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.bytes[self.next..self.end]
    }

    /// Buffered input, followed by the lookahead at the end of the stream.
    pub(super) fn ahead(&self) -> &[u8] {
        let end = if self.has_ended { self.end + self.lookahead } else { self.end };
        &self.bytes[self.next..end]
    }

    /// Consumes `len` bytes. Fails with `corrupt` (truncated) if the stream does not have them.
    pub(super) fn consume(&mut self, len: usize) -> Result<()> {
        if self.next + len > self.end {
            return Err(self.truncated());
        }
        self.next += len;
        Ok(())
    }

    /// Appends more input. Fails with `corrupt` (truncated) if the stream has ended.
    pub(super) async fn read_more(&mut self) -> Result<()> {
        if self.has_ended {
            return Err(self.truncated());
        }
        self.bytes.copy_within(self.next..self.end, 0);
        self.before += self.next as u64;
        (self.next, self.end) = (0, self.end - self.next);
        let room = &mut self.bytes[self.end..INPUT];
        let wanted = room.len();
        let found = self.stream.read(room).await?;
        self.end += found;
        self.has_ended = found < wanted;
        if self.has_ended {
            self.bytes[self.end..self.end + self.lookahead].fill(0);
        }
        Ok(())
    }

    /// Consumes and returns `len` bytes, which must be less than [`INPUT`]. Fails with `corrupt` (truncated) if the
    /// stream ends before.
    pub(super) async fn take(&mut self, len: usize) -> Result<&[u8]> {
        while self.end - self.next < len {
            self.read_more().await?;
        }
        self.next += len;
        Ok(&self.bytes[self.next - len..self.next])
    }

    /// Returns the next byte without consuming it; `None` at the end.
    pub(super) async fn next_byte(&mut self) -> Result<Option<u8>> {
        if self.next == self.end && !self.has_ended {
            self.read_more().await?;
        }
        Ok((self.next < self.end).then(|| self.bytes[self.next]))
    }

    /// Skips zeros. Returns whether other bytes follow.
    pub(super) async fn pass_zeros(&mut self) -> Result<bool> {
        while is_zero(&self.bytes[self.next..self.end]) {
            self.next = self.end;
            if self.has_ended {
                return Ok(false);
            }
            self.read_more().await?;
        }
        self.next += self.bytes[self.next..self.end].iter().take_while(|&&byte| byte == 0).count();
        Ok(true)
    }

    /// Consumes and returns all remaining bytes, or more than `most` of them. `most` must be less than [`INPUT`].
    pub(super) async fn rest(&mut self, most: usize) -> Result<&[u8]> {
        while !self.has_ended && self.end - self.next <= most {
            self.read_more().await?;
        }
        let rest = self.next..self.end;
        self.next = self.end;
        Ok(&self.bytes[rest])
    }

    /// Returns buffered input, at least a byte. Fails with `corrupt` (truncated) at the end.
    pub(super) async fn some(&mut self) -> Result<&[u8]> {
        if self.next == self.end {
            self.read_more().await?;
        }
        // The rest of the stream may be empty.
        if self.next == self.end { Err(self.truncated()) } else { Ok(self.buffered()) }
    }

    /// See [`ByteStream::file_position`].
    pub(super) fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    /// See [`ByteStream::ended`], of the compressed stream.
    pub(super) fn ended(&self) -> Ended {
        self.stream.ended()
    }
}

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
