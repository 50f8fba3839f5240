//! Decides where a block ends: where new symbols differ from those in the block.

use crate::SHORTEST_BLOCK;

const KINDS: usize = 10;
/// Number of symbols between two decisions.
const BETWEEN: u32 = 512;

/// Counts symbols by kind: those in the block, and those since the last decision.
#[derive(Clone, Default)]
pub(super) struct Split {
    block: [u32; KINDS],
    new: [u32; KINDS],
    block_count: u32,
    new_count: u32,
}

impl Split {
    #[inline(always)]
    pub(super) fn literal(&mut self, byte: u8) {
        self.new[usize::from(byte >> 5 & 6 | byte & 1)] += 1;
        self.new_count += 1;
    }

    #[inline(always)]
    pub(super) fn matched(&mut self, len: usize) {
        self.new[8 + usize::from(len >= 9)] += 1;
        self.new_count += 1;
    }

    /// Whether the block should end after `done` bytes; the input has `left` more bytes.
    #[inline(always)]
    pub(super) fn is_end(&mut self, done: usize, left: usize) -> bool {
        if self.new_count < BETWEEN || done < SHORTEST_BLOCK || left < SHORTEST_BLOCK {
            return false;
        }
        self.decide(done)
    }

    fn decide(&mut self, done: usize) -> bool {
        let (old, new) = (u64::from(self.block_count), u64::from(self.new_count));
        let kinds = self.block.iter().zip(&self.new);
        let difference: u64 =
            kinds.map(|(&before, &now)| (u64::from(before) * new).abs_diff(u64::from(now) * old)).sum();
        // The longer the block, the smaller a difference suffices.
        let limit = new * old * 200 / 512;
        if old > 0 && difference + done as u64 / 4096 * old >= limit {
            return true;
        }
        self.merge();
        false
    }

    fn merge(&mut self) {
        for (block, new) in self.block.iter_mut().zip(&mut self.new) {
            *block += std::mem::take(new);
        }
        self.block_count += std::mem::take(&mut self.new_count);
    }
}
