//! Modes of block ciphers, for the blocks of one sector: XTS, CBC and CTR.
//!
//! They are written out here and not taken from crates, since those decrypt a block at a time, which costs a bitsliced
//! cipher most of its speed.

use super::SECTOR;
use super::blocks::{Block, Blocks};

fn xor(block: &mut Block, with: &Block) {
    block.iter_mut().zip(with).for_each(|(byte, other)| *byte ^= other);
}

/// IEEE 1619: each block is masked before and after with a tweak, which doubles in GF(2^128).
pub(super) fn xts(data: &dyn Blocks, tweak: Block, blocks: &mut [Block]) {
    let mut mask = u128::from_le_bytes(tweak.0);
    let mut masks = [Block::default(); SECTOR / 16];
    for slot in &mut masks {
        *slot = Block::from(mask.to_le_bytes());
        mask = (mask << 1) ^ if mask >> 127 == 1 { 0x87 } else { 0 };
    }
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
    data.decrypt(blocks);
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
}

/// Each block is masked with the encrypted block before it.
pub(super) fn cbc(cipher: &dyn Blocks, iv: Block, blocks: &mut [Block]) {
    let mut masks = [iv; SECTOR / 16];
    let count = blocks.len();
    masks[1..count].copy_from_slice(&blocks[..count - 1]);
    cipher.decrypt(blocks);
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
}

/// The initialisation vector, a big-endian number, counts the blocks; encrypted, it masks them.
pub(super) fn ctr(cipher: &dyn Blocks, iv: Block, blocks: &mut [Block]) {
    let first = u128::from_be_bytes(iv.0);
    let mut masks: [Block; SECTOR / 16] =
        std::array::from_fn(|number| Block::from(first.wrapping_add(number as u128).to_be_bytes()));
    cipher.encrypt(&mut masks);
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
}
