//! The data of a block, after the data that its matches can refer to.

use super::frame::Frame;
use decant_module::{Buffers, Fault};
use lz4_flex::block::{decompress_into, decompress_into_with_dict};

/// The most bytes that a match reaches back.
const HISTORY: usize = 64 << 10;

/// The latest data of a frame.
#[derive(Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// The end of the data, and the end of the data that was written to the output.
    end: usize,
    given: usize,
}

impl Window {
    /// Begins a frame. Fails if memory runs out.
    pub(super) fn begin(&mut self, frame: &Frame) -> Result<(), Fault> {
        (self.end, self.given) = (0, 0);
        // With room for twice the history, the history is not moved for each small block.
        let size = 2 * HISTORY + frame.largest_block;
        let missing = size.saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(missing).map_err(|_| Fault::OutOfMemory(size as u64))?;
        self.bytes.resize(self.bytes.len() + missing, 0);
        Ok(())
    }

    /// Decodes `block`. All earlier data must have been written to the output. Returns the data of the block.
    pub(super) fn add(&mut self, frame: &Frame, block: &[u8], is_stored: bool) -> Result<&[u8], Fault> {
        if self.bytes.len() - self.end < frame.largest_block {
            let kept = self.end - self.end.min(HISTORY)..self.end;
            self.end = kept.len();
            self.bytes.copy_within(kept, 0);
        }
        let start = self.end;
        let (before, room) = self.bytes.split_at_mut(start);
        let room = &mut room[..frame.largest_block];
        let len = if is_stored {
            room[..block.len()].copy_from_slice(block);
            block.len()
        } else if frame.is_independent {
            decompress_into(block, room).map_err(|_| Fault::Invalid)?
        } else {
            decompress_into_with_dict(block, room, before).map_err(|_| Fault::Invalid)?
        };
        (self.given, self.end) = (start, start + len);
        Ok(&self.bytes[start..self.end])
    }

    /// Writes data to the output. Returns whether all data has been written.
    pub(super) fn put(&mut self, buffers: &mut Buffers<'_>) -> bool {
        self.given += buffers.put(&self.bytes[self.given..self.end]);
        self.given == self.end
    }
}
