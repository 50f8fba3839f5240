//! The input, bit by bit: the lowest bit of a byte comes first (section 3.1.1).

use super::InflateError;

pub(super) struct Bits<'a> {
    pub input: &'a [u8],
    /// The next byte that is not in `buffer`.
    pub next: usize,
    /// Bits to be read, the lowest first; those above `count` are zero.
    pub buffer: u64,
    pub count: u32,
}

impl<'a> Bits<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, next: 0, buffer: 0, count: 0 }
    }

    /// Takes in bytes as long as there are any and they have room: at least 56 bits, or all there are.
    pub fn refill(&mut self) {
        while self.count < 56 && self.next < self.input.len() {
            self.buffer |= u64::from(self.input[self.next]) << self.count;
            self.next += 1;
            self.count += 8;
        }
    }

    /// Takes `count` bits, at most 32.
    pub fn take(&mut self, count: u32) -> Result<u32, InflateError> {
        if self.count < count {
            self.refill();
        }
        let value = self.buffer & ((1 << count) - 1);
        self.consume(count)?;
        Ok(value as u32)
    }

    /// Drops `count` bits that were looked at.
    pub fn consume(&mut self, count: u32) -> Result<(), InflateError> {
        self.count = self.count.checked_sub(count).ok_or(InflateError::InputEnds)?;
        self.buffer >>= count;
        Ok(())
    }

    /// Drops the rest of a byte, and answers with the bytes from there on.
    pub fn align(&mut self) -> &'a [u8] {
        self.next -= (self.count / 8) as usize;
        (self.buffer, self.count) = (0, 0);
        &self.input[self.next..]
    }

    /// Goes on behind `count` bytes. Aligned, and they are there.
    pub fn skip_bytes(&mut self, count: usize) {
        self.next += count;
    }
}
