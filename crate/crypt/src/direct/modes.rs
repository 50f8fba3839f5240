//! Block cipher modes, for the blocks of one sector: what is done before and after its blocks are encrypted or decrypted
//! independently.
//!
//! The modes in crates call a cipher for a few blocks at a time, but calls of the platform's AES pay from 32 blocks on.

use super::block_cipher::CipherBlock;
use crate::Mode;

/// Writes the blocks to decrypt to `output`; for CTR, those to encrypt. `iv` is the tweak of the sector for XTS.
pub(super) fn prepare(mode: Mode, iv: &CipherBlock, input: &[CipherBlock], output: &mut [CipherBlock]) {
    match mode {
        Mode::Xts => {
            for ((output, input), tweak) in output.iter_mut().zip(input).zip(tweaks(iv)) {
                *output = sum(input, &tweak);
            }
        }
        Mode::Cbc | Mode::Ecb => output.copy_from_slice(input),
        Mode::Ctr => {
            let mut next = u128::from_be_bytes(iv.0);
            for counter in output {
                *counter = CipherBlock::from(next.to_be_bytes());
                next = next.wrapping_add(1);
            }
        }
    }
}

/// Makes the plain text of the blocks in `output`, which were decrypted, or encrypted for CTR.
pub(super) fn finish(mode: Mode, iv: &CipherBlock, input: &[CipherBlock], output: &mut [CipherBlock]) {
    match mode {
        Mode::Xts => output.iter_mut().zip(tweaks(iv)).for_each(|(block, tweak)| *block = sum(block, &tweak)),
        Mode::Cbc => {
            let before = std::iter::once(iv).chain(input);
            output.iter_mut().zip(before).for_each(|(block, before)| *block = sum(block, before));
        }
        Mode::Ecb => {}
        Mode::Ctr => output.iter_mut().zip(input).for_each(|(block, input)| *block = sum(block, input)),
    }
}

/// As `finish` for XTS, but what `prepare` makes of `input` was decrypted as a chain (CBC). `before` is the block before it in the
/// chain; then it is its last one.
pub(super) fn finish_chain(
    iv: &CipherBlock,
    input: &[CipherBlock],
    output: &mut [CipherBlock],
    before: &mut CipherBlock,
) {
    for ((block, input), tweak) in output.iter_mut().zip(input).zip(tweaks(iv)) {
        *block = sum(&sum(block, before), &tweak);
        *before = sum(input, &tweak);
    }
}

/// The masks of XTS (IEEE 1619), before and after: a tweak, which is doubled in GF(2^128) for each block.
fn tweaks(first: &CipherBlock) -> impl Iterator<Item = CipherBlock> {
    let double = |tweak: &u128| Some((tweak << 1) ^ if tweak >> 127 == 1 { 0x87 } else { 0 });
    std::iter::successors(Some(u128::from_le_bytes(first.0)), double)
        .map(|tweak| CipherBlock::from(tweak.to_le_bytes()))
}

fn sum(block: &CipherBlock, mask: &CipherBlock) -> CipherBlock {
    CipherBlock::from((u128::from_ne_bytes(block.0) ^ u128::from_ne_bytes(mask.0)).to_ne_bytes())
}
