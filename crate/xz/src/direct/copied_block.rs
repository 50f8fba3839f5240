//! Copies a block as a separate stream (the .xz file format, sections 2.1 and 4).

use super::block_header::BlockHeader;
use super::check::CheckType;
use crate::UNIT;
use crate::stream::{CRC, footer, put_integer, start_of_stream, with_checksum};
use decant_module::{Buffers, Fault, LARGEST_PART};

/// A block that is being copied.
pub(super) struct CopiedBlock {
    /// The bytes before the block's data: the size of the part, the header of a stream, and that of the block.
    start: Vec<u8>,
    /// The rest of the block in the input, in bytes.
    left: usize,
    /// The bytes after the block: an index and a footer.
    end: Vec<u8>,
    /// The numbers of bytes of `start` and of `end` that have been written.
    written: usize,
    unpadded: u64,
    data: u64,
}

impl CopiedBlock {
    /// Begins to copy a block with the header `bytes`, which is `header`, from a stream with `flags` and `check_type`. Fails
    /// with `Indivisible` unless the header states sizes, of a small block.
    pub(super) fn new(
        header: &BlockHeader,
        bytes: &[u8],
        flags: [u8; 2],
        check_type: CheckType,
    ) -> Result<Self, Fault> {
        let small = |size: Option<u64>| size.filter(|&size| size <= LARGEST_PART).ok_or(Fault::Indivisible);
        let (compressed, data) = (small(header.compressed_size)?, small(header.data_size)?);
        let unpadded = bytes.len() as u64 + compressed + check_type.len() as u64;
        let start = [&data.to_le_bytes()[..], &start_of_stream(flags), bytes].concat();
        let left = compressed.next_multiple_of(UNIT as u64) as usize + check_type.len();
        Ok(Self { start, left, end: end_of_stream(flags, unpadded, data), written: 0, unpadded, data })
    }

    /// Copies until the input is used, the output is full, or the stream ends. Returns whether it has ended.
    pub(super) fn copy(&mut self, buffers: &mut Buffers<'_>) -> bool {
        let start = &self.start[self.written.min(self.start.len())..];
        self.written += buffers.put(start);
        if self.written < self.start.len() {
            return false;
        }
        self.left -= buffers.copy(self.left);
        if self.left > 0 {
            return false;
        }
        let end = &self.end[self.written - self.start.len()..];
        self.written += buffers.put(end);
        self.written == self.start.len() + self.end.len()
    }

    /// Its size without padding, and the size of its data, as its header states them.
    pub(super) fn sizes(&self) -> (u64, u64) {
        (self.unpadded, self.data)
    }
}

/// The index and the footer of a stream with one block.
pub(super) fn end_of_stream(flags: [u8; 2], unpadded: u64, data: u64) -> Vec<u8> {
    let mut index = vec![0, 1];
    put_integer(unpadded, &mut index);
    put_integer(data, &mut index);
    index.resize(index.len().next_multiple_of(UNIT), 0);
    let index = with_checksum(&index, false);
    let footer = footer(flags, (index.len() - CRC) as u64);
    [index, footer].concat()
}
