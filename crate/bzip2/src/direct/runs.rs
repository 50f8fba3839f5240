//! Writes the text of a block. Four equal bytes are followed by the number of more of them.

use super::memory::filled;
use decant_module::{Buffers, Fault};

/// The number of equal bytes before a count.
const BEFORE_COUNT: usize = 4;

/// The text of a block, and how much of it was written.
pub(super) struct Runs {
    pub(super) text: Vec<u8>,
    /// Length of the text, and the position in it.
    len: usize,
    position: usize,
    /// Where the next count is, or the end of the text.
    stop: usize,
    /// Whether there is a count.
    has_count: bool,
    /// How often the last byte is still repeated.
    repeats: usize,
}

impl Runs {
    /// Takes the memory for blocks of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Result<Self, Fault> {
        Ok(Self { text: filled(limit, 0)?, len: 0, position: 0, stop: 0, has_count: false, repeats: 0 })
    }

    /// Begins with the first `len` bytes of `text`.
    pub(super) fn begin(&mut self, len: usize) {
        (self.len, self.position, self.repeats) = (len, 0, 0);
        self.find_stop();
    }

    /// Writes until the output is full or the text ends. Returns whether it has ended.
    pub(super) fn write(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        loop {
            if self.repeats > 0 {
                let room = &mut buffers.output[buffers.written..];
                let len = self.repeats.min(room.len());
                room[..len].fill(self.text[self.position - 2]);
                (self.repeats, buffers.written) = (self.repeats - len, buffers.written + len);
            }
            self.position += buffers.put(&self.text[self.position..self.stop]);
            if self.repeats > 0 || self.position < self.stop {
                return Ok(false);
            }
            if !self.has_count {
                return Ok(true);
            }
            let count = self.text[..self.len].get(self.position).ok_or(Fault::Invalid)?;
            self.repeats = usize::from(*count);
            self.position += 1;
            self.find_stop();
        }
    }

    fn find_stop(&mut self) {
        let found = equal_bytes(&self.text[self.position..self.len]);
        self.has_count = found.is_some();
        self.stop = found.map_or(self.len, |start| self.position + start + BEFORE_COUNT);
    }
}

/// Returns where the first four equal bytes are.
fn equal_bytes(bytes: &[u8]) -> Option<usize> {
    /// The number of places in a word of 8 bytes.
    const PLACES: usize = 5;
    let mut start = 0;
    while let Some(word) = bytes[start..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let unequal = word ^ word >> 8;
        let unequal = unequal | unequal >> 8 | unequal >> 16;
        // The lowest of these marks is right, since no lower byte borrows.
        let marks = unequal.wrapping_sub(0x01_0101_0101) & !unequal & 0x80_8080_8080;
        if marks != 0 {
            return Some(start + marks.trailing_zeros() as usize / 8);
        }
        start += PLACES;
    }
    let found = bytes[start..].windows(BEFORE_COUNT).position(|four| four.iter().all(|byte| *byte == four[0]))?;
    Some(start + found)
}
