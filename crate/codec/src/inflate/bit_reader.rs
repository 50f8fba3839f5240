//! Reads the input bit by bit, lowest bit of each byte first (section 3.1.1).

use super::InflateError;

pub(super) struct BitReader<'a> {
    pub(super) input: &'a [u8],
    /// Offset of the next byte that is not in `buffer`.
    pub(super) next: usize,
    /// Unread bits, lowest first; bits from `count` on are zero.
    pub(super) buffer: u64,
    pub(super) count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, next: 0, buffer: 0, count: 0 }
    }

    /// Adds bytes to the buffer until it has at least 56 bits, or the input ends.
    pub(super) fn refill(&mut self) {
        while self.count < 56 && self.next < self.input.len() {
            self.buffer |= u64::from(self.input[self.next]) << self.count;
            self.next += 1;
            self.count += 8;
        }
    }

    /// Takes `count` bits, at most 32. Fails with `InputEnds` if there are fewer.
    pub(super) fn take(&mut self, count: u32) -> Result<u32, InflateError> {
        if self.count < count {
            self.refill();
        }
        let value = self.buffer & ((1 << count) - 1);
        self.consume(count)?;
        Ok(value as u32)
    }

    /// Drops `count` bits of the buffer. Fails with `InputEnds` if it has fewer.
    pub(super) fn consume(&mut self, count: u32) -> Result<(), InflateError> {
        self.count = self.count.checked_sub(count).ok_or(InflateError::InputEnds)?;
        self.buffer >>= count;
        Ok(())
    }

    /// Returns the whole bytes in `buffer` to the input.
    pub(super) fn give_back(&mut self) {
        self.next -= (self.count / 8) as usize;
        self.count %= 8;
        self.buffer &= (1 << self.count) - 1;
    }

    /// Drops the bits up to the next byte. Returns the input from there.
    pub(super) fn align(&mut self) -> &'a [u8] {
        self.next -= (self.count / 8) as usize;
        (self.buffer, self.count) = (0, 0);
        &self.input[self.next..]
    }

    /// Skips `count` bytes, which must be within the input. The position must be aligned.
    pub(super) fn skip_bytes(&mut self, count: usize) {
        self.next += count;
    }
}
