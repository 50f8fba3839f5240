//! Block cipher modes XTS, CBC and CTR, for the blocks of one sector.
//!
//! They are not taken from crates because those decrypt one block at a time, which costs a bitsliced cipher most of its
//! speed.

use super::SECTOR;
use super::block_cipher::{Blocks, CipherBlock};

fn xor(block: &mut CipherBlock, with: &CipherBlock) {
    block.iter_mut().zip(with).for_each(|(byte, other)| *byte ^= other);
}

/// XTS (IEEE 1619): masks each block before and after with a tweak, which is doubled in GF(2^128) for each block.
pub(super) fn xts(data: &dyn Blocks, tweak: CipherBlock, blocks: &mut [CipherBlock]) {
    let mut mask = u128::from_le_bytes(tweak.0);
    let mut masks = [CipherBlock::default(); SECTOR / 16];
    for slot in &mut masks {
        *slot = CipherBlock::from(mask.to_le_bytes());
        mask = (mask << 1) ^ if mask >> 127 == 1 { 0x87 } else { 0 };
    }
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
    data.decrypt(blocks);
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
}

/// CBC: masks each block with the encrypted block before it.
pub(super) fn cbc(cipher: &dyn Blocks, iv: CipherBlock, blocks: &mut [CipherBlock]) {
    let mut masks = [iv; SECTOR / 16];
    let count = blocks.len();
    masks[1..count].copy_from_slice(&blocks[..count - 1]);
    cipher.decrypt(blocks);
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
}

/// CTR: the initialisation vector is a big-endian counter of blocks; encrypted, it masks them.
pub(super) fn ctr(cipher: &dyn Blocks, iv: CipherBlock, blocks: &mut [CipherBlock]) {
    let first = u128::from_be_bytes(iv.0);
    let mut masks: [CipherBlock; SECTOR / 16] =
        std::array::from_fn(|number| CipherBlock::from(first.wrapping_add(number as u128).to_be_bytes()));
    cipher.encrypt(&mut masks);
    blocks.iter_mut().zip(&masks).for_each(|(block, mask)| xor(block, mask));
}
