//! Block cipher modes XTS, CBC and CTR, for the blocks of one sector.
//!
//! They are not taken from crates because those decrypt one block at a time, which costs a bitsliced cipher most of its
//! speed.

use super::block_cipher::{Blocks, CipherBlock};
use crate::SECTOR;

/// Number of blocks at once: those of the shortest sector.
const AT_ONCE: usize = SECTOR / 16;

/// Sets `output` to the sum of `blocks` and `masks`.
fn mask(blocks: &[CipherBlock], masks: &[CipherBlock], output: &mut [CipherBlock]) {
    for ((output, block), mask) in output.iter_mut().zip(blocks).zip(masks) {
        *output = CipherBlock::from(std::array::from_fn(|byte| block[byte] ^ mask[byte]));
    }
}

fn mask_in_place(blocks: &mut [CipherBlock], masks: &[CipherBlock]) {
    for (block, mask) in blocks.iter_mut().zip(masks) {
        block.iter_mut().zip(mask).for_each(|(byte, other)| *byte ^= other);
    }
}

/// XTS (IEEE 1619): masks each block before and after with a tweak, which is doubled in GF(2^128) for each block.
pub(super) fn xts(data: &dyn Blocks, tweak: CipherBlock, input: &[CipherBlock], output: &mut [CipherBlock]) {
    let mut next = u128::from_le_bytes(tweak.0);
    for (input, output) in input.chunks(AT_ONCE).zip(output.chunks_mut(AT_ONCE)) {
        let mut masks = [CipherBlock::default(); AT_ONCE];
        for slot in &mut masks {
            *slot = CipherBlock::from(next.to_le_bytes());
            next = (next << 1) ^ if next >> 127 == 1 { 0x87 } else { 0 };
        }
        mask(input, &masks, output);
        data.decrypt(output);
        mask_in_place(output, &masks);
    }
}

/// CBC: masks each block with the encrypted block before it.
pub(super) fn cbc(cipher: &dyn Blocks, iv: CipherBlock, input: &[CipherBlock], output: &mut [CipherBlock]) {
    output.copy_from_slice(input);
    cipher.decrypt(output);
    mask_in_place(&mut output[..1], &[iv]);
    mask_in_place(&mut output[1..], input);
}

/// CTR: the initialisation vector is a big-endian counter of blocks; encrypted, it masks them.
pub(super) fn ctr(cipher: &dyn Blocks, iv: CipherBlock, input: &[CipherBlock], output: &mut [CipherBlock]) {
    let mut next = u128::from_be_bytes(iv.0);
    for (input, output) in input.chunks(AT_ONCE).zip(output.chunks_mut(AT_ONCE)) {
        let mut masks = [CipherBlock::default(); AT_ONCE];
        for slot in &mut masks {
            *slot = CipherBlock::from(next.to_be_bytes());
            next = next.wrapping_add(1);
        }
        cipher.encrypt(&mut masks);
        mask(input, &masks, output);
    }
}
