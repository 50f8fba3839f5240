//! The blocks of a disk, for formats with a table that has the place of each block in the file.

use super::BLOCK;
use super::layout::Writes;
use crate::compress::EncodedPart;
use crate::error::Result;
use crate::io::source::zeroed;

/// Zeros are written in pieces of this size, in bytes.
const PIECE: u64 = 256 << 10;

/// Which blocks of a disk are in the file, and whether zeros in them are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// All blocks. Zeros are holes.
    All,
    /// Blocks with data. Zeros in them are holes.
    WithData,
    /// Blocks with data, whole: zeros in them are written, since Hyper-V and Windows refuse a file that is sparse on NTFS.
    WithDataDense,
}

/// Places the blocks of a disk in a file, one after another in guest order. Sizes and offsets are in bytes.
pub(super) struct Blocks {
    block_size: u64,
    /// The offset of the first block in the file.
    start: u64,
    /// The distance between the starts of two blocks in the file.
    distance: u64,
    /// The bytes directly before each block.
    bitmap: &'static [u8],
    kept: Kept,
    /// The number of blocks of the disk.
    total: u64,
    /// A bit for each block of the disk, lowest first: whether it has data.
    with_data: Vec<u8>,
    /// The block with the last data, and the number of blocks with data.
    last: Option<u64>,
    count: u64,
    /// The offset after the last byte that is written.
    end: u64,
}

/// The offset of the first block after `start`, and the distance between the starts of two blocks, with a bitmap of `bitmap` bytes
/// directly before each block.
pub(super) fn placed(start: u64, block_size: u64, bitmap: u64) -> (u64, u64) {
    let aligned = |at: u64| (at + bitmap).next_multiple_of(BLOCK);
    (aligned(start), aligned(block_size))
}

impl Blocks {
    /// Places the `total` blocks of a disk from `start` on. Fails with `internal` if memory runs out.
    pub(super) fn new(total: u64, block_size: u64, start: u64, kept: Kept) -> Result<Self> {
        let with_data = zeroed(total.div_ceil(8) as usize)?;
        Ok(Self {
            block_size,
            start,
            distance: block_size,
            bitmap: &[],
            kept,
            total,
            with_data,
            last: None,
            count: 0,
            end: start,
        })
    }

    /// Writes `bitmap` directly before each block. Blocks are aligned as in file systems.
    #[must_use]
    pub(super) fn with_bitmaps(self, bitmap: &'static [u8]) -> Self {
        let (start, distance) = placed(self.start, self.block_size, bitmap.len() as u64);
        Self { start, distance, bitmap, ..self }
    }

    /// Places `parts`, which ascend. Fails with `internal` if memory runs out.
    pub(super) fn place(&mut self, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        for part in parts {
            let mut done = 0;
            while done < part.len {
                let guest = part.guest.0 + done;
                let within = guest % self.block_size;
                let len = (self.block_size - within).min(part.len - done);
                let at = self.begin(guest / self.block_size, writes)? + within;
                if self.kept == Kept::WithDataDense {
                    self.fill(at, writes)?;
                }
                writes.range(at, part.start + done as usize, len as usize);
                self.end = at + len;
                done += len;
            }
        }
        Ok(())
    }

    /// Ends the last block: the file has all bytes of it. Fails with `internal` if memory runs out.
    pub(super) fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        let Some(last) = self.count().checked_sub(1) else { return Ok(()) };
        let end = self.offset(last) + self.block_size;
        if self.kept != Kept::WithDataDense {
            self.end = self.end.max(end - BLOCK);
        }
        self.fill(end, writes)
    }

    /// The offset after the last byte that is written.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The offset of block `number` in the file.
    pub(super) fn offset(&self, number: u64) -> u64 {
        self.start + number * self.distance
    }

    /// The number of blocks in the file.
    pub(super) fn count(&self) -> u64 {
        if self.kept == Kept::All { self.total } else { self.count }
    }

    /// The blocks of the disk that are in the file, ascending, and their numbers there.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u64, u64)> {
        let is_in_file = |&block: &u64| self.kept == Kept::All || self.has_data(block);
        (0..self.total).filter(is_in_file).zip(0..)
    }

    fn has_data(&self, block: u64) -> bool {
        self.with_data[(block / 8) as usize] & 1 << (block % 8) != 0
    }

    /// Begins `block`, which has data, unless it has begun. Returns its offset in the file. Fails with `internal` if memory runs out.
    fn begin(&mut self, block: u64, writes: &mut Writes) -> Result<u64> {
        let is_new = self.last != Some(block);
        if is_new {
            self.last = Some(block);
            self.count += 1;
            self.with_data[(block / 8) as usize] |= 1 << (block % 8);
        }
        let at = self.offset(if self.kept == Kept::All { block } else { self.count - 1 });
        if is_new && !self.bitmap.is_empty() {
            let bitmap = at - self.bitmap.len() as u64;
            self.fill(bitmap, writes)?;
            writes.own(bitmap, self.bitmap.to_vec());
            self.end = at;
        }
        Ok(at)
    }

    /// Writes zeros up to the offset `to`.
    fn fill(&mut self, to: u64, writes: &mut Writes) -> Result<()> {
        let (pieces, rest) = ((to - self.end) / PIECE, (to - self.end) % PIECE);
        if pieces > 0 {
            writes.repeated(self.end, zeroed(PIECE as usize)?, pieces);
        }
        writes.own(to - rest, zeroed(rest as usize)?);
        self.end = to;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Blocks, Kept, PIECE, Writes};
    use crate::compress::EncodedPart;
    use crate::offsets::GuestOffset;
    use crate::output::layout::Write;

    const SIZE: u64 = 1 << 20;

    /// Pairs of offsets and lengths, or of numbers of blocks.
    type Pairs = Vec<(u64, u64)>;

    /// Places parts of the disk, given as guest offsets and lengths. Returns the writes of data and of zeros, as offsets and lengths,
    /// and the blocks.
    fn placed(kept: Kept, parts: &[(u64, u64)]) -> (Pairs, Pairs, Pairs) {
        let mut blocks = Blocks::new(6, SIZE, SIZE, kept).unwrap();
        let (mut writes, mut start) = (Writes::default(), 0);
        for &(guest, len) in parts {
            let encoded_len = len as usize;
            let part =
                EncodedPart { guest: GuestOffset(guest), len, crc: 0, start, encoded_len, padding: 0, is_stored: true };
            blocks.place(&[part], &mut writes).unwrap();
            start += encoded_len;
        }
        blocks.finish(&mut writes).unwrap();
        let (mut data, mut zeros) = (Vec::new(), Vec::new());
        for write in &writes.0 {
            let list = if matches!(write, Write::Parts { .. }) { &mut data } else { &mut zeros };
            list.push((write.offset(), write.end() - write.offset()));
        }
        (data, zeros, blocks.numbered().collect())
    }

    #[test]
    fn blocks_are_placed_in_guest_order() {
        let all = || (0..6).map(|block| (block, block)).collect::<Vec<_>>();
        let parts = [(SIZE + 4096, 4096), (3 * SIZE, SIZE + 4096)];
        // (what is kept, parts, writes of data, writes of zeros, blocks in the file)
        let rows = [
            (Kept::All, &[][..], vec![], vec![(7 * SIZE - BLOCK, BLOCK)], all()),
            (
                Kept::All,
                &parts,
                vec![(2 * SIZE + 4096, 4096), (4 * SIZE, SIZE + 4096)],
                vec![(7 * SIZE - BLOCK, BLOCK)],
                all(),
            ),
            (Kept::All, &[(6 * SIZE - 512, 512)], vec![(7 * SIZE - 512, 512)], vec![], all()),
            (Kept::All, &[(6 * SIZE - 1024, 512)], vec![(7 * SIZE - 1024, 512)], vec![(7 * SIZE - 512, 512)], all()),
            (Kept::WithData, &[], vec![], vec![], vec![]),
            (
                Kept::WithData,
                &parts,
                vec![(SIZE + 4096, 4096), (2 * SIZE, SIZE + 4096)],
                vec![(4 * SIZE - BLOCK, BLOCK)],
                vec![(1, 0), (3, 1), (4, 2)],
            ),
            (Kept::WithDataDense, &[], vec![], vec![], vec![]),
            (
                Kept::WithDataDense,
                &parts,
                vec![(SIZE + 4096, 4096), (2 * SIZE, SIZE + 4096)],
                vec![
                    (SIZE, 4096),
                    (SIZE + 8192, 3 * PIECE),
                    (SIZE + 8192 + 3 * PIECE, PIECE - 8192),
                    (3 * SIZE + 4096, 3 * PIECE),
                    (3 * SIZE + 4096 + 3 * PIECE, PIECE - 4096),
                ],
                vec![(1, 0), (3, 1), (4, 2)],
            ),
        ];
        for (kept, parts, data, zeros, numbered) in rows {
            assert_eq!(placed(kept, parts), (data, zeros, numbered), "{kept:?} {parts:?}");
        }
    }
}
